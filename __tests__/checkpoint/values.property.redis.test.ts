import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Send } from "@langchain/langgraph";
import { emptyCheckpoint, MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { referenceKey } from "../../src/langgraph/checkpoint/split-value.js";
import { forAllAsync } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { ComparedSaver } from "./compared-saver.js";

const padding = "and so on ".repeat(30);
/** Short ones stand in a record, long ones in an item. */
const text = fc.tuple(fc.string({ unit: "grapheme", maxLength: 10 }), fc.boolean()).map(([start, isLong]) => {
  return isLong ? `${start}${padding}` : start;
});
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.uint8Array({ minLength: 60, maxLength: 400 }),
  fc.nat({ max: 255 }).map((byte) => new Uint8Array(3_000).fill(byte)),
);
const leaf: fc.Arbitrary<unknown> = fc.oneof(
  text,
  bytes,
  bytes,
  bytes.map((each) => Buffer.from(each)),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, undefined),
  fc.date(),
  fc.constantFrom(/a+/gi, new RegExp(padding)),
  text.map((message) => new Error(message)),
  text.map((content) => new HumanMessage({ content })),
  text.map((content) => new AIMessage({ id: "a", content, tool_calls: [{ id: "c", name: "f", args: { content } }] })),
  fc.tuple(text, fc.jsonValue()).map(([content, artifact]) => {
    return new ToolMessage({ id: "t", content, tool_call_id: "c", artifact });
  }),
  text.map((each) => ({ [referenceKey]: { i: each } })),
  text.map((each) => ({ lc: 2, type: "constructor", id: ["Date"], method: "now", args: [each], kwargs: {} })),
  text.map((each) => ({ lc: 1, type: "not_implemented", id: [each] })),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    { arbitrary: leaf, weight: 3 },
    { arbitrary: fc.array(tie("value"), { maxLength: 4 }), weight: 3 },
    fc.dictionary(fc.constantFrom("a", "list", "lc", "type", "id"), tie("value"), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
    fc.array(tie("value"), { maxLength: 3 }).map((each) => new Set(each)),
    fc.array(fc.tuple(text, tie("value")), { maxLength: 3 }).map((each) => new Map(each)),
    fc.tuple(text, tie("value")).map(([node, args]) => new Send(node, args)),
  ),
}));

describe.each([
  ["plain", {}],
  ["encrypted", { encryption: testKeys("k1") }],
])("A value of any kind in a thread, %s", (_, settings) => {
  const client = sharedClient();
  const keyPrefix = uniquePrefix();
  const metadata = { source: "loop", step: 0, parents: {} } as const;

  it("is read as MemorySaver reads it, in a channel, a write and a list, when stored once and again", async () => {
    let runs = 0;
    await forAllAsync({ runs: 10, examples: [[{ [referenceKey]: { i: "0" } }]] }, value, async (drawn) => {
      const thread = `t${(runs += 1)}`;
      // MemorySaver cannot read a write of bytes, and takes a channel of a Buffer for JSON.
      const one = drawn instanceof Uint8Array ? { drawn } : drawn;
      const channel_values = { one, list: [drawn], deep: { list: [{ inner: drawn }, padding] } };
      let config = { configurable: { thread_id: thread } };
      const memory = new MemorySaver();
      for (const step of [1, 2]) {
        const saver = new ComparedSaver(
          new RedisSaver({ client, keyPrefix, commandTimeout: 40_000, ...settings }),
          memory,
        );
        const versions = { one: step, list: step, deep: step };
        const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values, channel_versions: versions };
        config = (await saver.put(config, checkpoint, metadata, versions)) as typeof config;
        const writes = [one, [drawn], { list: [drawn, padding] }].map((each, at): [string, unknown] => [`${at}`, each]);
        await saver.putWrites(config, writes, "task");
        await saver.getTuple({ configurable: { thread_id: thread } });
        await saver.compareAll(thread);
      }
    });
  });
});
