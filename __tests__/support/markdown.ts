import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** A link of a document to a file of this repository; `heading` is what stands behind `#`. */
export interface DocumentLink {
  readonly line: number;
  readonly target: string;
  readonly file: string;
  readonly heading: string | undefined;
}

/** Markdown files below a path of the repository, or the file itself. */
export function documentsIn(root: string, path: string): string[] {
  if (path.endsWith(".md")) {
    return [path];
  }
  return readdirSync(join(root, path), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => posix.join(path, name.replaceAll("\\", "/")))
    .sort();
}

/** Links to files and headings, in order. Links to other sites and what stands in code are left out. */
export function linksOf(path: string, text: string): DocumentLink[] {
  return withoutCode(text)
    .split("\n")
    .flatMap((line, index) =>
      [...line.matchAll(/\]\(([^()\s]+)\)/g)]
        .map(([, target]) => target!)
        .filter((target) => !/^[a-z]+:/i.test(target))
        .map((target) => {
          const [name, heading] = target.split("#");
          const file = name === "" ? path : posix.normalize(posix.join(posix.dirname(path), name!));
          return { line: index + 1, target, file, heading };
        }),
    );
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const counts = new Map<string, number>();
  for (const [, title] of withoutFences(text).matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const anchor = title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return anchors;
}

/** Paths of this repository in the inline code of a document, such as `src/entries/index.ts`, without placeholders. */
export function pathsNamed(text: string): string[] {
  const named = [...withoutFences(text).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
  return named.filter((code) => /^(src|cli|testing|tools|__tests__|examples|docs|\.ci)\/[\w./-]+$/.test(code));
}

/** The names of sources in code quotes that stand without their folder, as `turn.ts`. */
export function sourcesNamed(text: string): string[] {
  return [...withoutFences(text).matchAll(/`(?:[\w-]+\/)*([\w-]+\.(?:ts|lua))`/g)].map(([, name]) => name!);
}

/** The text of a file of the repository. */
export function readDocument(root: string, path: string): string {
  return readFileSync(join(root, path), "utf8");
}

// Lines stay where they are, so that what is found can be named by its line.
function withoutFences(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, (block) => block.replaceAll(/[^\n]/g, ""));
}

function withoutCode(text: string): string {
  return withoutFences(text).replaceAll(/`[^`\n]*`/g, "");
}
