import { documentsIn, readDocument } from "./markdown.js";
import { packageSources } from "./source-tree.js";

/** A block of code in a document, or in the `@example` of a doc comment. */
export interface CodeBlock {
  /** The file that it stands in, from the project's folder. */
  readonly path: string;
  /** The line of the file at which its code begins, counted from 1. */
  readonly line: number;
  readonly language: string;
  /** What stands behind the language, such as `runnable`. */
  readonly marks: readonly string[];
  readonly code: string;
}

/** Fenced blocks of all documents, in order. */
export function documentBlocks(root: string): CodeBlock[] {
  return ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs"]
    .flatMap((path) => documentsIn(root, path))
    .flatMap((path) => fencedBlocks(path, readDocument(root, path)));
}

/** Fenced blocks of a document, in order. */
export function fencedBlocks(path: string, text: string): CodeBlock[] {
  return [...text.matchAll(/^( *)```(\w+)([^\n]*)\n([\s\S]*?)^ *```$/gm)].map((match) => {
    const [, indent, language, marks, code] = match as unknown as [string, string, string, string, string];
    return {
      ...{ path, language, line: lineAt(text, match.index) + 1, marks: marks.split(" ").filter(Boolean) },
      code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}

/** The examples of the doc comments of the package, without the stars in front of their lines. */
export function commentBlocks(root: string): CodeBlock[] {
  return packageSources(root).flatMap(({ path, text }) => {
    return [...text.matchAll(/^ *\* @example\n((?: *\*(?!\/)(?! @).*\n)+)/gm)].map((match) => ({
      ...{ path, language: "ts", marks: [], line: lineAt(text, match.index) + 1 },
      code: match[1]!.replaceAll(/^ *\* ?/gm, "").replaceAll(/^```.*$/gm, ""),
    }));
  });
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
