import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { entries } from "./support/entries.js";
import { importViolations, ranks, unitOf } from "./support/import-ranks.js";
import { exportListsOf, importsOf, readTree, templateLengths } from "./support/source-tree.js";

const root = join(__dirname, "..");
const sources = readTree(join(root, "src"));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, Record<string, string>>;
const declared = new Set(Object.keys({ ...manifest["dependencies"], ...manifest["peerDependencies"] }));

const maxFileLines = 250;
const maxScriptLines = 60;
const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/;
const emptyWords = new Set(["util", "utils", "helper", "helpers", "common", "misc"]);

describe("the source tree", () => {
  it("imports only from lower ranks, and only packages that users have", () => {
    expect(sources.length).toBeGreaterThan(3);
    expect(sources.flatMap((file) => importViolations(file, declared))).toEqual([]);
  });

  it("has a rank for every folder and file", () => {
    const units = readdirSync(join(root, "src")).map((name) => unitOf(name));
    expect(units.filter((unit) => unit !== "index" && ranks[unit] === undefined)).toEqual([]);
    const ownPage = /^cli\/inspector\/page\/([\w-]+\.(tsx|css)|index\.html|tsconfig\.json)$/;
    expect(sources.map(({ path }) => path).filter((path) => !path.endsWith(".ts") && !ownPage.test(path))).toEqual([]);
  });

  it("has export lists and index.ts files at its entries only, where each name is listed", () => {
    expect(entries).toContain("index.ts");
    const inside = sources.filter(({ path }) => !entries.includes(path));
    expect(inside.filter(({ path }) => /(^|\/)index\.ts$/.test(path)).map(({ path }) => path)).toEqual([]);
    expect(inside.filter((file) => exportListsOf(file).length > 0).map(({ path }) => path)).toEqual([]);
    const lists = sources.flatMap((file) => exportListsOf(file).map((list) => ({ path: file.path, ...list })));
    expect(lists.filter(({ names }) => names === undefined)).toEqual([]);
  });

  it("has no two files with the same name, except the entries", () => {
    const inside = sources.filter(({ path }) => !entries.includes(path));
    const names = inside.map(({ path }) => path.split("/").at(-1)!);
    const twins = names.filter((name, index) => names.indexOf(name) < index);
    expect(twins).toEqual([]);
  });

  it(`keeps files within ${maxFileLines} lines`, () => {
    const lengths = sources.map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }));
    expect(lengths.filter(({ lines }) => lines > maxFileLines)).toEqual([]);
  });

  it(`keeps Lua scripts within ${maxScriptLines} lines`, () => {
    const scripts = sources.filter(({ path }) => path.startsWith("store/redis/scripts/"));
    expect(scripts.length).toBeGreaterThan(3);
    const lengths = scripts.flatMap((file) => templateLengths(file).map((lines) => ({ path: file.path, lines })));
    expect(lengths.filter(({ lines }) => lines > maxScriptLines)).toEqual([]);
  });

  it.each(["src", "__tests__", "examples", "scripts"])(
    "names what is in %s in kebab-case, by what it is for",
    (folder) => {
      const names = readTree(join(root, folder)).flatMap(({ path }) => path.split("/"));
      expect(names.filter((name) => !isGoodName(name))).toEqual([]);
    },
  );
});

describe("the check of the source tree itself", () => {
  const violations = (path: string, text: string) =>
    importViolations({ path, text }, new Set(["ioredis", "zod", "@langchain/core", "langchain"]));

  it.each([
    ["a static import", `import { a } from "../memory/a.js";`],
    ["a type-only import", `import type { A } from "../memory/a.js";`],
    ["an import for its effect", `import "../memory/a.js";`],
    ["a re-export", `export * from "../memory/a.js";`],
    ["a named re-export of a type", `export type { A } from "../memory/a.js";`],
    ["a dynamic import", "export const load = async () => { await import(`../memory/a.js`); };"],
    ["an import type", `export type A = import("../memory/a.js").A;`],
    ["a required import", `import a = require("../memory/a.js");`],
    ["a call of require", `const a = require("../memory/a.js");`],
  ])("finds %s from a higher rank", (_, text) => {
    expect(violations("reducers/reducer.ts", `// first line\n${text}`)).toEqual([
      "src/reducers/reducer.ts:2 imports ../memory/a.js: memory (rank 5) is not below reducers (rank 4)",
    ]);
  });

  it("finds an import through a wall inside a room", () => {
    expect(violations("store/redis/a.ts", `import "../in-memory/b.js";`)[0]).toContain("a wall stands between");
    expect(violations("store/in-memory/a.ts", `import type { B } from "../redis/b.js";`)).toHaveLength(1);
  });

  it("finds imports between folders of one rank, but for those in the table", () => {
    expect(violations("store/keys.ts", `import "../codec/record.js";`)).toHaveLength(1);
    expect(violations("conversation/rounds.ts", `import "../codec/record.js";`)).toHaveLength(1);
    expect(violations("memory/a.ts", `import "../openai/b.js";`)).toHaveLength(1);
    expect(violations("errors.ts", `import "./options.js";`)).toHaveLength(1);
    expect(violations("codec/record.ts", `import "../messages/roles.js";`)).toEqual([]);
    expect(violations("options.ts", `import "./errors.js";`)).toEqual([]);
  });

  it("lets a file import from its own folder and from lower ranks, and index.ts all", () => {
    expect(
      violations(
        "store/redis/scripts/append.ts",
        `import "../keys.js"; import "../../rounds.js"; import "../../../errors.js";`,
      ),
    ).toEqual([]);
    expect(violations("index.ts", `export * from "./errors.js"; export { a } from "./langchain/a.js";`)).toEqual([]);
  });

  it("finds an import of index.ts, of a folder without rank, of a file outside src, and of a computed name", () => {
    expect(violations("memory/a.ts", `import "../index.js";`)[0]).toContain("index is for users");
    expect(violations("memory/a.ts", `import "../store/index.js";`)[0]).toContain("index is for users");
    expect(violations("memory/a.ts", `import "../misc/b.js";`)[0]).toContain("not in the rank table");
    expect(violations("misc/a.ts", `import "../errors.js";`)[0]).toContain("rank -1");
    expect(violations("memory/a.ts", `import "../../package.json";`)[0]).toContain("outside src");
    expect(violations("memory/a.ts", "export const load = (name: string) => import(name);")[0]).toContain(
      "a computed name",
    );
  });

  it("finds ioredis outside store/, and loaded before it is needed", () => {
    expect(violations("memory/a.ts", `import type { Redis } from "ioredis";`)[0]).toContain(
      "only store/ and cli/ may import ioredis",
    );
    expect(violations("testing/a.ts", `import("ioredis/built/cluster")`)[0]).toContain(
      "only store/ and cli/ may import ioredis",
    );
    expect(violations("store/a.ts", `import { type Redis } from "ioredis";`)[0]).toContain("when first needed");
    expect(
      violations("store/a.ts", `import type { Redis } from "ioredis"; export const load = () => import("ioredis");`),
    ).toEqual([]);
  });

  it("finds packages that users may not have, and the root of @langchain/core", () => {
    expect(violations("memory/a.ts", `import fc from "fast-check";`)[0]).toContain(
      "neither a dependency nor a peer dependency",
    );
    expect(violations("memory/a.ts", `import { A } from "@langchain/core";`)[0]).toContain("subpath");
    expect(
      violations(
        "memory/a.ts",
        `import { A } from "@langchain/core/messages"; import * as z from "zod/mini"; import "node:fs";`,
      ),
    ).toEqual([]);
  });

  it("finds schemas that would bring all of zod into a bundle", () => {
    expect(violations("memory/a.ts", `import { z } from "zod";`)[0]).toContain("zod/mini");
    expect(violations("memory/a.ts", `import type { ZodObject } from "zod";`)).toEqual([]);
  });

  it("does not take text for imports", () => {
    expect(importsOf({ path: "a.ts", text: `// import "../a.js"\nexport const text = 'import "../b.js"';` })).toEqual(
      [],
    );
  });

  it("finds export lists and what they leave open", () => {
    const text = ['import { a } from "./a.js";', "export { a };", 'export * from "./b.js";', "export const c = 1;"];
    expect(exportListsOf({ path: "a.ts", text: text.join("\n") })).toEqual([{ line: 2, names: ["a"] }, { line: 3 }]);
  });

  it("counts the lines of each script once, with the fragments in it", () => {
    const text = [
      "export const a = `",
      "one",
      "${fragment(`x",
      "y`)}",
      "`;",
      'export const b = `one line`; const c = "none";',
    ].join("\n");
    expect(templateLengths({ path: "store/scripts/a.ts", text })).toEqual([3, 1]);
  });

  it("knows good names from bad ones", () => {
    expect(
      ["session-store.ts", "01-remember-a-chat.ts", "a.redis.test.ts", "README.md"].filter((name) => !isGoodName(name)),
    ).toEqual([]);
    expect(
      ["sessionStore.ts", "session_store.ts", "utils", "common.ts", "message-helpers.ts", "a--b.ts"].filter(isGoodName),
    ).toEqual([]);
  });
});

function isGoodName(name: string): boolean {
  return name === "README.md" || (kebabCase.test(name) && !name.split(/[-.]/).some((word) => emptyWords.has(word)));
}
