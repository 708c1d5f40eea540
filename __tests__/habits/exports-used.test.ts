import { join } from "node:path";
import { readTree } from "../support/source-tree.js";

const root = join(__dirname, "..", "..");
const rooms = ["src", "cli", "testing"];
/** Users of the rooms' names besides the rooms: tests, tools, and the scripts in Lua, which name constants. */
const users = ["__tests__", "tools", "examples"];

interface Source {
  readonly path: string;
  readonly text: string;
}

/** Exported functions, classes and constants of the first sources that no other source names. */
function unused(own: readonly Source[], others: readonly Source[]): string[] {
  const files = new Map<string, Set<string>>();
  for (const { path, text } of [...own, ...others]) {
    for (const [word] of text.matchAll(/[\w$]+/g)) {
      files.set(word, (files.get(word) ?? new Set()).add(path));
    }
  }
  return own.flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:async )?(?:abstract )?(?:function\*?|const|class) (\w+)/gm)]
      .filter(([, name]) => files.get(name!)!.size === 1)
      .map(([, name]) => `${path}: ${name}`),
  );
}

/** The sources of a room, without the generated modules of scripts. */
function sourcesIn(room: string): Source[] {
  return readTree(join(root, room))
    .filter(({ path }) => /\.(?:tsx?|mjs|lua)$/.test(path) && !/node_modules|\blua\/[\w-]*scripts\.ts/.test(path))
    .map(({ path, text }) => ({ path: `${room}/${path}`, text }));
}

describe("an export", () => {
  it("of a function, class or constant is used by another file", () => {
    expect(unused(rooms.flatMap(sourcesIn), users.flatMap(sourcesIn))).toEqual([]);
  });

  it("that only its own file uses is found", () => {
    const own = [{ path: "a.ts", text: "export function one() {}\nexport const two = one();" }];
    expect(unused(own, [{ path: "b.ts", text: "two" }])).toEqual(["a.ts: one"]);
  });
});
