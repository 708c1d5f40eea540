import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as threadScripts from "../../src/langgraph/checkpoint/lua/scripts.js";
import * as itemScripts from "../../src/langgraph/long-term/lua/scripts.js";
import * as runScripts from "../../src/runs/lua/scripts.js";
import * as laterScripts from "../../src/store/redis/lua/later-scripts.js";
import * as scripts from "../../src/store/redis/lua/scripts.js";
import type { Script } from "../../src/store/redis/script.js";
import {
  assemble,
  luaFolder,
  luaFolders,
  luaModules,
  moduleFrom,
  originOf,
  readsFrom,
} from "../../tools/scripts/lua/assemble.js";

const root = join(__dirname, "../..");
const all = Object.entries<Script | string>({
  ...scripts,
  ...laterScripts,
  ...threadScripts,
  ...itemScripts,
  ...runScripts,
}).filter((entry): entry is [string, Script] => typeof entry[1] !== "string");

const files: Record<string, string> = {
  "sum.lua": "-- Adds.\n--- @include plus\n--- @include minus\n\nreturn plus(minus(1), 2)\n",
  "includes/plus.lua":
    "--- @include number\n--- @const digestLength\n\nlocal function plus(a, b) return a + b end -- of two",
  "includes/minus.lua":
    "--- @include number\n\nlocal function minus(a)\n  return 'digestLength -- ' .. -number(a)\nend",
  "includes/number.lua": "local function number(a) return a end",
  "inner.lua": "if KEYS[1] then\n  --- @include number\n  return number(digestLength.x)\nend",
  "value.lua":
    "--- @const digestLength\n--- @const viewFields\n\nreturn { digestLength + 1, s.digestLength, viewFields }",
};
const textOf = (name: string) =>
  assemble(name, (path) => files[path.slice(luaFolder.length + 1)]!).parts.flatMap(({ text }) => text.split("\n"));

describe("the Lua scripts put together", () => {
  it("hold each include once, in front of what needs it", () => {
    expect(textOf("sum")).toEqual([
      "local function number(a) return a end",
      "local function plus(a, b) return a + b end",
      "local function minus(a)",
      "return 'digestLength -- ' .. -number(a)",
      "end",
      "return plus(minus(1), 2)",
    ]);
  });

  it("hold an include inside a block where it stands", () => {
    expect(textOf("inner").slice(0, 2)).toEqual(["if KEYS[1] then", "local function number(a) return a end"]);
  });

  it("hold the values of constants, and leave fields and texts of that name alone", () => {
    expect(textOf("value")[0]).toMatch(/^return \{ 8 \+ 1, s\.digestLength, 'epoch', 'rev', .*'sum', 'key', 'dek' \}$/);
  });

  it.each(all)("are told line by line where they come from: %s", (name, { source }) => {
    const file = name.replace(/Script$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const folder = luaFolders.find((place) => existsSync(join(root, place, `${file}.lua`)))!;
    const { parts } = assemble(file, readsFrom(root), folder);
    source.split("\n").forEach((text, index) => {
      const [origin, line] = originOf(parts, index + 1)!.split(":");
      const from = [folder, ...luaFolders].find((place) => existsSync(join(root, place, origin!)))!;
      const stored = readFileSync(join(root, from, origin!), "utf8").split("\n")[Number(line) - 1]!;
      expect(stored.trim().startsWith(text.split(/[\d']/)[0]!.trimEnd())).toBe(true);
    });
    expect(originOf(parts, source.split("\n").length + 1)).toBeUndefined();
  });

  it("are made anew of a file that was changed", () => {
    const read = readsFrom(root);
    const sessions = luaModules[0]!;
    const changed = moduleFrom(
      root,
      sessions,
      (path) => `${read(path)}${path.endsWith("/read-epoch.lua") ? "-- end\nlocal x" : ""}`,
    );
    expect(changed).not.toBe(moduleFrom(root, sessions));
    expect(changed.replace("\n\nlocal x`", "`")).toBe(moduleFrom(root, sessions));
  });
});
