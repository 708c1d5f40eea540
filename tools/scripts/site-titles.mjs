// A plugin of TypeDoc, so that guides stay plain Markdown: the first heading of a guide is its title, also in the
// navigation, and headings have the anchors that they have on GitHub. An entry has the name by which users import it.
// Both stand under a heading of the menu. The search knows what readers ask for.
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Comment, CommentTag, Converter, IndexEvent, ReflectionKind } from "typedoc";
import { headingOf, searchesFor } from "./site-guides.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, reflection) => {
    if (reflection.kindOf(ReflectionKind.Module)) {
      reflection.name =
        /^src\/entries\/(.+)$/.exec(reflection.name)?.[1] ?? reflection.name.replace("src/entries", "index");
      reflection.comment ??= new Comment();
      reflection.comment.blockTags.push(new CommentTag("@group", [{ kind: "text", text: "Reference" }]));
    }
  });
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    document.frontmatter.group = headingOf(pathOf(document));
    plainHeadings(document.content);
    const [first] = document.content;
    const heading = first?.kind === "text" ? /^\s*# (.+)\n/.exec(first.text) : null;
    if (heading !== null) {
      document.name = heading[1];
      first.text = first.text.slice(heading[0].length);
    }
  });
  app.renderer.on(IndexEvent.PREPARE_INDEX, (event) => {
    event.searchFieldWeights.asked = 10_000;
    event.searchResults.forEach((found, index) => {
      if (found.isDocument()) {
        event.searchFields[index].asked = searchesFor(pathOf(found)).join(" ");
      }
    });
  });
}

/** The path of a document from the root of the project. */
function pathOf(document) {
  return relative(root, document.project.files.getReflectionPath(document));
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
