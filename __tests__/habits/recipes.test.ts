import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as main from "../../src/entries/index.js";
import { builtInProfiles } from "../../src/entries/structure.js";
import { luaModules } from "../../tools/scripts/lua/assemble.js";
import { readTree } from "../support/source-tree.js";

const root = join(__dirname, "..", "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const textsIn = (folder: string) =>
  readTree(join(root, folder))
    .map(({ text }) => text)
    .join("\n");
const reducersPage = read("docs/reducers.md");
const reducers = Object.entries(main).flatMap(([name, value]) =>
  typeof value === "function" && value.prototype instanceof main.ChatHistoryReducer ? [name] : [],
);

/** The places of the recipes in CONTRIBUTING.md that no compiler asks for, and no test that it runs anyway. */
describe("the places of a recipe", () => {
  it("are known for each reducer: its name, row, wrong options, tests and properties", () => {
    expect(reducers.length).toBeGreaterThan(4);
    const places: Readonly<Record<string, (name: string) => boolean>> = {
      "docs/reducers.md": (name) => reducersPage.includes(`\n| \`${name}\` `),
      lc_name: (name) => (main as unknown as Record<string, typeof main.ChatHistoryReducer>)[name]!.lc_name() === name,
      ...Object.fromEntries(
        ["__tests__/wrong-options.test.ts", "__tests__/reducers", "__tests__/property"].map((path) => {
          const text = path.endsWith(".ts") ? read(path) : textsIn(path);
          return [path, (name: string) => text.includes(`new ${name}(`)];
        }),
      ),
    };
    expect(missing(reducers, places)).toEqual([]);
  });

  it("are known for each counter: its name in docs/reducers.md, and a test of its own", () => {
    const counters = Object.keys(main).filter((name) => name.endsWith("Counter"));
    expect(counters.length).toBeGreaterThan(2);
    const tests = textsIn("__tests__/tokens");
    const places = {
      "docs/reducers.md": (name: string) => reducersPage.includes(`\`${name}(`),
      "__tests__/tokens": (name: string) => tests.includes(`${name}(`),
    };
    expect(missing(counters, places)).toEqual([]);
  });

  it("are known for each profile: its name in docs/providers.md", () => {
    const page = read("docs/providers.md");
    expect(Object.keys(builtInProfiles).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it("are known for each script: a call", () => {
    const calls = readTree(join(root, "src")).filter(({ path }) => !luaModules.includes(`src/${path}`));
    const words = new Set(calls.flatMap(({ text }) => text.match(/\w+Script\b/g) ?? []));
    const scripts = luaModules.flatMap((path) => [...read(path).matchAll(/^export const (\w+Script)\b/gm)]);
    expect(scripts.length).toBeGreaterThan(40);
    expect(scripts.map(([, name]) => name!).filter((name) => !words.has(name))).toEqual([]);
  });
});

function missing(names: readonly string[], places: Readonly<Record<string, (name: string) => boolean>>): string[] {
  return names.flatMap((name) =>
    Object.entries(places).flatMap(([place, knows]) => (knows(name) ? [] : [`${name}: ${place}`])),
  );
}
