import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { toStoreError } from "../../src/store/redis/errors.js";
import * as threadScripts from "../../src/langgraph/checkpoint/lua/scripts.js";
import * as itemScripts from "../../src/langgraph/long-term/lua/scripts.js";
import * as runScripts from "../../src/runs/lua/scripts.js";
import * as laterScripts from "../../src/store/redis/lua/later-scripts.js";
import * as scripts from "../../src/store/redis/lua/scripts.js";
import type { Script, ScriptPart } from "../../src/store/redis/script.js";
import {
  assemble,
  luaFolder,
  luaFolders,
  luaModules,
  moduleFrom,
  readsFrom,
} from "../../tools/scripts/lua/assemble.js";

const root = join(__dirname, "../..");
const all = Object.entries<Script | ScriptPart>({
  ...scripts,
  ...laterScripts,
  ...threadScripts,
  ...itemScripts,
  ...runScripts,
}).filter((entry): entry is [string, Script] => "sha" in entry[1]);

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

  it.each(all)("know of each line of %s where it stands", (_, { source, originOf }) => {
    source.split("\n").forEach((text, index) => {
      const [file, line] = originOf(index + 1)!.split(":");
      const folder = luaFolders.find((place) => existsSync(join(root, place, file!)))!;
      const stored = readFileSync(join(root, folder, file!), "utf8").split("\n")[Number(line) - 1]!;
      expect(stored.trim().startsWith(text.split(/[\d']/)[0]!.trimEnd())).toBe(true);
    });
    expect(originOf(source.split("\n").length + 1)).toBeUndefined();
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

describe("an error inside a script", () => {
  const reply = (message: string) => Object.assign(new Error(message), { name: "ReplyError" });
  const call = { operation: "append", sessionId: "a" };

  it.each([
    "ERR user_script:90: attempt to index a nil value script: abc, on @user_script:90.",
    "ERR Error running script (call to f_abc): @user_script:90: user_script:90: attempt to index a nil value",
  ])("names file and line: %s", (message) => {
    const { originOf } = scripts.appendScript;
    const error = toStoreError(reply(message), call, { script: scripts.appendScript });
    expect(error.message).toContain(`(${originOf(90)!}).`);
    expect((error.cause as Error).message).toBe(`${message} [${originOf(90)!}]`);
  });

  it("names them in the cause only where the message says what to do", () => {
    const error = toStoreError(reply("WRONGTYPE Operation, on @user_script:2."), call, {
      script: laterScripts.readStatsScript,
    });
    expect(error.message).not.toContain(".lua");
    expect((error.cause as Error).message).toMatch(/\[includes\/[\w-]+\.lua:\d+\]$/);
  });
});
