import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commentBlocks, documentBlocks } from "./support/code-blocks.js";
import { entries } from "./support/entries.js";
import { readDocument } from "./support/markdown.js";
import { readTree } from "./support/source-tree.js";

const root = join(__dirname, "..");
const paths = entries.map((entry) => join("src", entry));

/** Classes and functions of an entry. */
async function valuesOf(path: string): Promise<string[]> {
  return Object.keys((await import(join(root, path))) as object);
}

const examples = readTree(join(root, "examples")).filter(({ path }) => path.endsWith(".ts"));
const shown = new Set(
  [
    ...[...documentBlocks(root), ...commentBlocks(root)]
      .filter(({ language }) => /^tsx?$/.test(language))
      .map(({ code }) => code),
    ...examples.map(({ path }) => readFileSync(join(root, "examples", path), "utf8")),
  ].flatMap((code) => code.match(/\w+/g) ?? []),
);
const ofStores = paths.find((path) => path.endsWith("store/index.ts"))!;

describe("the public classes and functions", () => {
  it.each(paths.filter((path) => path !== ofStores))("of %s are each in an example", async (path) => {
    expect((await valuesOf(path)).filter((name) => !shown.has(name))).toEqual([]);
  });

  it("for authors of stores are each named in their guide", async () => {
    const named = new Set(readDocument(root, "docs/writing-a-store.md").match(/\w+/g));
    expect((await valuesOf(ofStores)).filter((name) => !named.has(name))).toEqual([]);
  });
});
