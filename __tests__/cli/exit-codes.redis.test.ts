import { commandEntries } from "../../cli/command-entries.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { commandKey, commandPlaces } from "../support/command-places.js";
import { ai, human } from "../support/messages.js";

const { client, place, file } = commandPlaces("codes");
const cases = ["nothing found", "wrong owner", "wrong prefix", "missing key", "interrupted"] as const;
type Codes = readonly (number | undefined)[];

/**
 * How each command ends on a memory without a session, for an owner who has none, under another prefix, on an encrypted
 * session without its key, and interrupted. Undefined where a command knows no owner, or goes on until it is
 * interrupted. 0 for a list, a report or an index: that there is nothing is what was asked for.
 */
const table: Readonly<Record<string, readonly [args: string[], owned: string[], codes: Codes]>> = {
  sessions: [[], ["--owner", "nobody"], [0, 0, 0, 0, 130]],
  threads: [[], [], [0, undefined, 0, 0, 130]],
  show: [["s", "--content"], [], [1, undefined, 1, 1, 130]],
  watch: [["s"], [], [undefined, undefined, undefined, undefined, 130]],
  inspect: [[], [], [undefined, undefined, undefined, undefined, 130]],
  stats: [[], [], [0, undefined, 0, 0, 130]],
  search: [["t"], ["t", "--owner", "nobody"], [0, 0, 0, 1, 130]],
  check: [["--all"], [], [0, undefined, 0, 1, 130]],
  // Warnings about the settings of the server of the tests.
  doctor: [[], [], [4, undefined, 4, 4, 130]],
  rebuild: [["s"], ["s", "--owner", "nobody"], [1, 1, 1, 1, 130]],
  delete: [
    ["s", "--yes"],
    ["--owner", "nobody", "--yes"],
    [1, 5, 1, 0, 130],
  ],
  prune: [["--thread", "s", "--keep", "1"], [], [1, undefined, 1, 1, 130]],
  reindex: [[], [], [0, undefined, 0, 0, 130]],
  reencrypt: [[], [], [2, undefined, 2, 2, 130]],
  export: [["s"], ["--owner", "nobody"], [1, 5, 1, 1, 130]],
  import: [[file("")], [], [5, undefined, 5, 5, 130]],
  migrate: [["--pattern", "nothing-*"], [], [5, undefined, 5, 5, 130]],
  simulate: [["s"], [], [1, undefined, 1, 1, 130]],
};

it("covers each command", () => {
  expect(Object.keys(table).sort()).toEqual(commandEntries.map(({ name }) => name).sort());
});

describe.each(Object.entries(table))("the command %s", (name, [args, owned, codes]) => {
  it("ends with a code that says whether something was done, and with a sentence", async () => {
    const found: unknown[] = [];
    for (const [index, kind] of cases.entries()) {
      if (codes[index] === undefined) {
        found.push(undefined);
        continue;
      }
      const { keyPrefix, memory, command } = place();
      const encryption = { current: commandKey };
      const writer =
        kind === "missing key" ? new RedisChatMemory({ client, redis: { keyPrefix }, encryption }) : memory;
      if (kind !== "nothing found") {
        await writer.history("s", { owner: "ann", title: "title" }).addMessages([human("secret"), ai("secret")]);
        await writer.drain();
      }
      const run = kind === "wrong prefix" ? place().command : command;
      const operands = kind === "wrong owner" ? owned : args;
      const { exitCode, output, errors } = await run([name, ...operands], { isInterrupted: kind === "interrupted" });
      found.push(exitCode);
      expect(`${output}${errors}`).not.toMatch(/^ {4}at /m);
      expect(exitCode === 0 || exitCode === 130 || `${output}${errors}`).not.toBe("");
      expect(await memory.sessions.count({ owner: "ann" })).toBe(
        kind === "nothing found" || (name === "delete" && kind === "missing key") ? 0 : 1,
      );
    }
    expect(found).toEqual(codes);
  });
});
