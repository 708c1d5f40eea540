import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import { emptyCheckpoint, JsonPlusSerializer, uuid6 } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { threadKeys } from "../../src/store/redis/keys.js";
import { forAllAsync } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const serde = new JsonPlusSerializer();
const dump = async (value: unknown) => Buffer.from((await serde.dumpsTyped(value))[1]).toString("utf8");

const padding = "and so on ".repeat(20);
const text = fc.string({ unit: "grapheme", maxLength: 20 }).map((start) => `${start}${padding}`);
const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>;
const record = fc.dictionary(fc.constantFrom("a", "snake_case", "camelCase", "x-y", "lc"), json, {
  maxKeys: 3,
  noNullPrototype: true,
});
const blocks = fc.array(
  fc.oneof(
    text.map((content) => ({ type: "text", text: content })),
    fc.constant({ type: "image_url", image_url: { url: `data:image/png;base64,${padding}` } }),
  ),
  { minLength: 1, maxLength: 2 },
);
const common = { content: fc.oneof(text, blocks), id: fc.uuid(), additional_kwargs: record, response_metadata: record };
const call = fc.record({
  id: fc.constantFrom("c1", "c2"),
  name: fc.constant("find_it"),
  args: record,
  type: fc.constant("tool_call" as const),
});
const invalid = fc.record({
  id: fc.constant("c3"),
  name: fc.constant("find_it"),
  args: fc.constant("{"),
  error: text,
  type: fc.constant("invalid_tool_call" as const),
});
const ai = {
  tool_calls: fc.array(call, { maxLength: 2 }),
  invalid_tool_calls: fc.array(invalid, { maxLength: 1 }),
  usage_metadata: fc.constant({ input_tokens: 1, output_tokens: 2, total_tokens: 3 }),
};
const tool = { tool_call_id: fc.constant("c1"), artifact: json, status: fc.constantFrom("success", "error") };

type MessageClass = new (fields: never) => BaseMessage;
const of = (Message: unknown, own: Record<string, fc.Arbitrary<unknown>>, required: readonly string[] = []) =>
  fc
    .record({ ...common, name: fc.constantFrom("ann"), ...own } as Record<string, fc.Arbitrary<unknown>>, {
      requiredKeys: ["content", ...required],
      noNullPrototype: true,
    })
    .map((fields) => new (Message as MessageClass)(fields as never));

/** A message of every class, each with some of its fields. */
const messages = fc.tuple(
  of(HumanMessage, {}),
  of(HumanMessageChunk, {}),
  of(SystemMessage, {}),
  of(SystemMessageChunk, {}),
  of(AIMessage, ai),
  of(AIMessageChunk, ai),
  of(ToolMessage, tool, ["tool_call_id"]),
  of(ToolMessageChunk, tool, ["tool_call_id"]),
  of(FunctionMessage, { name: fc.constant("find_it") }, ["name"]),
  of(ChatMessage, { role: fc.constant("judge") }, ["role"]),
  fc.string({ minLength: 150 }).map((id) => new RemoveMessage({ id })),
);

describe("The item of a message of any class", () => {
  const client = sharedClient();
  const keyPrefix = uniquePrefix();

  const config = (thread: string) => ({ configurable: { thread_id: thread } });
  const put = (saver: RedisSaver, thread: string, list: readonly unknown[], step: number) => {
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values: { messages: [...list] } };
    checkpoint.channel_versions = { messages: step };
    return saver.put(config(thread), checkpoint, { source: "loop", step, parents: {} }, { messages: step });
  };

  it("is what it is again once it was read, equals what LangChain reads, and is stored once", async () => {
    let runs = 0;
    await forAllAsync(4, messages, async (list) => {
      const thread = `t${(runs += 1)}`;
      await put(new RedisSaver({ client, keyPrefix }), thread, list, 1);
      const other = new RedisSaver({ client, keyPrefix });
      const read = (await other.get(config(thread)))!.channel_values["messages"] as BaseMessage[];
      const { items } = threadKeys(keyPrefix, thread);
      const texts = (await client.lrange(items, 0, -1)).filter((item) => item.startsWith('{"lc"'));
      expect(texts).toHaveLength(list.length);
      for (const [index, item] of texts.entries()) {
        const loaded: unknown = await serde.loadsTyped("json", item);
        expect(await dump(loaded)).toBe(item);
        expect(read[index]).toStrictEqual(loaded);
      }
      const before = await client.llen(items);
      await put(other, thread, read, 2);
      await put(new RedisSaver({ client, keyPrefix }), thread, list, 3);
      expect(await client.llen(items)).toBe(before);
    });
  });
});
