import { PassThrough } from "node:stream";
import { HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { runCommandLine } from "../../cli/command-line.js";
import { testCaseOf } from "../../cli/inspector/server/test-case.js";
import { Screen, type Streams } from "../../cli/screen.js";
import { RedisChatMemory } from "../../src/entries/index.js";
import { decodeRecord } from "../../src/store/codec/decode-record.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { commandPlaces, withCommandKey } from "../support/command-places.js";
import { ai, human } from "../support/messages.js";
import { forAll, forAllAsync } from "../support/property-runs.js";

const { client, place } = commandPlaces("hostile");

/** What a terminal obeys, and what nobody sees; joiners are parts of emoji. */
const obeyed = /(?![\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const osc = "\u001b]52;c;cHduZWQ=\u0007";
const hostile = fc.constantFrom(
  osc,
  "\u009b2J",
  "\u202e",
  "\u2066",
  "\u2028",
  "\u200b",
  "\u{e0041}",
  "\r",
  "\u0000",
  "a",
);

/** Streams of a terminal, and all that was written to them. */
function terminal() {
  const written: string[] = [];
  const stream = () => {
    const made = Object.assign(new PassThrough(), { isTTY: true, columns: 60 });
    made.on("data", (chunk: Buffer) => written.push(chunk.toString()));
    return made;
  };
  const streams: Streams = { out: stream(), err: stream(), env: { NO_COLOR: "1" } };
  return { streams, shown: () => written.join("") };
}

describe("a text from Redis or from the user", () => {
  const text = fc.array(hostile, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("x"));

  it("is shown by every way to a terminal as escapes", () =>
    forAllAsync(30, text, async (said) => {
      for (const json of [false, true]) {
        const { streams, shown } = terminal();
        const screen = new Screen(streams, { json });
        await screen.line(said, { paint: (line) => line });
        await screen.table([{ title: said }], [[said]]);
        await screen.record({ [said]: said });
        screen.note(said);
        expect(shown()).not.toMatch(obeyed);
        expect(json ? JSON.parse(shown().split("\n")[0]!) : {}).toEqual(json ? { [said]: said } : {});
      }
      const { streams, shown } = terminal();
      for (const args of [[said], ["show", `--${said}`], ["import", said], ["simulate", said, "--reducer", said]]) {
        await runCommandLine(args, streams, new AbortController().signal);
      }
      expect(shown()).not.toMatch(obeyed);
    }));

  it("stands in code that the inspector shows as escapes, and means the same", () =>
    forAll(100, text, (said) => {
      const { code } = testCaseOf([new HumanMessage({ content: said, additional_kwargs: { [said]: 1 } })]);
      expect(code).not.toMatch(obeyed);
      expect(JSON.parse(/content: (".*")/.exec(code)![1]!)).toBe(said);
    }));

  it("that names no key is never shown, asked for, or taken for a key's id", async () => {
    const { keyPrefix, memory, command } = place();
    await memory.history("s").addMessages([human("q", "q"), ai("a", { id: "a" })]);
    const ids = [osc, "", "k1\r\nX-Evil: 1", "x".repeat(100_000), "__proto__ "];
    for (const sealed of ids) {
      const record = JSON.stringify({ type: "ai", data: { id: "a" }, sealed, meta: { v: 2 } });
      for (const stored of [record, `${record}\nabc`]) {
        expect(() => decodeRecord(stored)).toThrow(expect.objectContaining({ code: "corrupt" }) as Error);
        await client.lset(sessionKeys(keyPrefix, "s").log, 1, stored);
        for (const args of [["show", "s", "--content"], ["rebuild", "s", "--dry-run"], ["check"], ["export", "s"]]) {
          const { output, errors } = await command(args, withCommandKey);
          expect(`${output}${errors}`).not.toMatch(obeyed);
          expect(errors.length).toBeLessThan(1_000);
        }
        const reading = new RedisChatMemory({ client, redis: { keyPrefix } });
        expect(await reading.history("s").getMessages()).toHaveLength(1);
      }
    }
  });
});
