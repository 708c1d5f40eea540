// A plugin of TypeDoc, so that guides stay plain Markdown: the first heading of a guide is its title, also in the
// navigation, and headings have the anchors that they have on GitHub. An entry has the name by which users import it.
import { Converter, ReflectionKind } from "typedoc";

export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, reflection) => {
    if (reflection.kindOf(ReflectionKind.Module)) {
      reflection.name =
        /^src\/entries\/(.+)$/.exec(reflection.name)?.[1] ?? reflection.name.replace("src/entries", "index");
    }
  });
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    plainHeadings(document.content);
    const [first] = document.content;
    const heading = first?.kind === "text" ? /^\s*# (.+)\n/.exec(first.text) : null;
    if (heading !== null) {
      document.name = heading[1];
      first.text = first.text.slice(heading[0].length);
    }
  });
}

/** Takes code out of headings, because TypeDoc leaves it out of their anchors. */
function plainHeadings(parts) {
  let line = "";
  for (const part of parts) {
    if (part.kind === "code" && /^#{1,6} /.test(line) && !part.text.includes("\n")) {
      part.kind = "text";
      part.text = part.text.replaceAll("`", "");
    }
    line = `${line}${part.text}`.split("\n").at(-1);
  }
}
