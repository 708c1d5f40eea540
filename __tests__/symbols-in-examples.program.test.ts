import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commentBlocks, documentBlocks } from "./support/code-blocks.js";
import { entries } from "./support/entries.js";
import { shownTypes, type ShownCode } from "./support/shown-types.js";
import { exportsOf, sourceProgram } from "./support/source-program.js";
import { readTree } from "./support/source-tree.js";

const root = join(__dirname, "..");
const paths = entries;
const placeOf = (name: string) => join(root, "examples", name);

/** Classes and functions of an entry. */
async function valuesOf(path: string): Promise<string[]> {
  return Object.keys((await import(join(root, path))) as object);
}

const blocks = [...documentBlocks(root), ...commentBlocks(root)]
  .filter(({ language }) => /^tsx?$/.test(language))
  .map(({ code, language }, index) => ({ path: placeOf(`block-${index}.${language}`), code: `${code}\nexport {};` }));
const examples = readTree(join(root, "examples"))
  .filter(({ path }) => /\.m?ts$/.test(path))
  .map(({ path }) => ({ path: placeOf(path), code: readFileSync(placeOf(path), "utf8") }));
const shown = new Set([...blocks, ...examples].flatMap(({ code }) => code.match(/\w+/g) ?? []));

describe("the public classes and functions", () => {
  it.each(paths)("of %s are each in an example", async (path) => {
    expect((await valuesOf(path)).filter((name) => !shown.has(name))).toEqual([]);
  });
});

const lead =
  'import { HistoryManager } from "langchain-redis-memory/tool-loop";\ndeclare const manager: HistoryManager;';
const snippet = (name: string, code: string) => ({ path: placeOf(`snippet-${name}.ts`), code: `${lead}\n${code}` });
const snippets = {
  named: snippet("named", ""),
  called: snippet("called", 'void manager.addToolCallResults([{ id: "c1", name: "search" }]);'),
  given: snippet("given", 'void manager.addToolCallResults([{ id: "c1", name: "search", chunks: [] }]);'),
  read: snippet("read", "void (await manager.getHistoryForModelCall({} as never)).outcome;"),
  taken: snippet("taken", "const { messages } = await manager.getHistoryForModelCall({} as never);"),
};
const typesByPath = shownTypes([...blocks, ...examples, ...Object.values(snippets)], root);

describe("the public types", () => {
  const types = new Set([...blocks, ...examples].flatMap(({ path }) => [...typesByPath.get(path)!]));
  const program = sourceProgram(paths.map((path) => join(root, path)));

  it.each(paths)("of %s are each named in an example, or the type of what an example uses", async (path) => {
    const values = new Set(await valuesOf(path));
    const names = exportsOf(program, join(root, path)).map(({ name }) => name);
    expect(names.filter((name) => !values.has(name) && !types.has(name))).toEqual([]);
  });
});

describe("the types that code shows", () => {
  const typesOf = ({ path }: ShownCode) => [...typesByPath.get(path)!];

  it("are not those of methods that it does not call", () => {
    expect(typesOf(snippets.named)).toEqual(["HistoryManager"]);
  });

  it("are those of the parameters of a call, and of the fields that it gives", () => {
    expect(typesOf(snippets.called)).toContain("ToolCallResponse");
    expect(typesOf(snippets.called)).not.toContain("Chunk");
    expect(typesOf(snippets.given)).toContain("Chunk");
  });

  it("are those of the fields that it reads of a result", () => {
    expect(typesOf(snippets.read)).toContain("WindowOutcome");
    expect(typesOf(snippets.taken)).not.toContain("WindowOutcome");
  });
});
