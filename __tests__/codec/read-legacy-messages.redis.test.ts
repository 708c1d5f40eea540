import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { readLegacyMessages } from "../../src/store/codec/read-legacy-messages.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { human } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

describe("a list that @langchain/redis or @langchain/community wrote", () => {
  const client = sharedClient();
  let key: string;

  beforeEach(() => {
    key = uniquePrefix();
  });

  /** One message, as those packages write it. */
  const addMessage = (message: BaseMessage) => client.lpush(key, JSON.stringify(message.toDict()));
  const texts = (messages: readonly BaseMessage[]) => messages.map(({ content }) => content);

  it("is read oldest first, field for field", async () => {
    const written = [
      new HumanMessage({ content: "What is 6 x 7?", id: "h1" }),
      new AIMessage({
        content: "",
        id: "a1",
        tool_calls: [{ type: "tool_call", id: "c1", name: "multiply", args: { a: 6, b: 7 } }],
      }),
      new ToolMessage({ id: "t1", content: "42", tool_call_id: "c1", name: "multiply", artifact: { exact: true } }),
      new AIMessage({ content: "It is 42.", id: "a2" }),
    ];
    for (const message of written) {
      await addMessage(message);
    }
    expect(await readLegacyMessages({ client, key })).toEqual(written);
  });

  it("gives messages without an id the same ids each time, and different ones at different positions", async () => {
    await addMessage(human("again"));
    await addMessage(new AIMessage({ content: "own", id: "own" }));
    await addMessage(human("again"));
    const first = await readLegacyMessages({ client, key });
    await addMessage(human("later"));
    const second = await readLegacyMessages({ client, key });
    const ids = second.map(({ id }) => id);
    expect(ids.slice(0, 3)).toEqual(first.map(({ id }) => id));
    expect(ids).toEqual([expect.stringMatching(/^legacy:[\w-]{22}$/), "own", ...ids.slice(2)]);
    expect(new Set(ids).size).toBe(4);
    const otherKey = uniquePrefix();
    await client.lpush(otherKey, JSON.stringify(human("again").toDict()));
    expect((await readLegacyMessages({ client, key: otherKey }))[0]!.id).not.toBe(ids[0]);
  });

  it("can be migrated twice, and the second time adds nothing", async () => {
    await client.lpush(key, ...["a", "b", "b"].map((text) => JSON.stringify(human(text).toDict())));
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
    const migrate = async () =>
      new RedisChatMessageHistory({ sessionId: key, store }).append(await readLegacyMessages({ client, key }));
    expect(await migrate()).toMatchObject({ appended: 3, duplicates: 0 });
    await addMessage(human("c"));
    expect(await migrate()).toMatchObject({ appended: 1, duplicates: 3 });
    expect(await migrate()).toMatchObject({ appended: 0, duplicates: 4 });
    const history = new RedisChatMessageHistory({ sessionId: key, store });
    expect(texts(await history.getMessages())).toEqual(["a", "b", "b", "c"]);
  });

  it.each<[string, object]>([
    ["current", { lRange: () => [], sendCommand: () => [] }],
    ["legacy", { lrange: () => true, sendCommand: () => true }],
  ])("is not read by a node-redis client in its %s form, which the error names", async (_, nodeRedis) => {
    await expect(readLegacyMessages({ client: nodeRedis as never, key })).rejects.toMatchObject({
      name: "ConfigurationError",
      option: "client",
      message: expect.stringContaining("is a node-redis client"),
    });
  });

  it.each([0, 1, 99, 100, 101, 350])("of %d messages is read whole", async (count) => {
    const elements = Array.from({ length: count }, (_, index) => JSON.stringify(human(`${index}`).toDict()));
    if (count > 0) {
      await client.lpush(key, ...elements);
    }
    expect(texts(await readLegacyMessages({ client, key }))).toEqual(
      Array.from({ length: count }, (_, index) => `${index}`),
    );
  });

  it("is read without gap or repetition while messages are added", async () => {
    await client.lpush(key, ...Array.from({ length: 350 }, (_, index) => JSON.stringify(human(`${index}`).toDict())));
    const growing = {
      lrange: async (...args: [string, number, number]) => {
        const page = await client.lrange(...args);
        await addMessage(human("new"));
        return page;
      },
    };
    const read = texts(await readLegacyMessages({ client: growing, key }));
    expect(read.filter((text) => text !== "new")).toEqual(Array.from({ length: 350 }, (_, index) => `${index}`));
  });

  it("is read without elements that are not messages, which are reported by index from the oldest", async () => {
    await client.lpush(
      key,
      JSON.stringify(human("a").toDict()),
      "no JSON",
      '{"type":"remove","data":{"id":"x"}}',
      JSON.stringify(human("b").toDict()),
    );
    const events: MemoryEvent[] = [];
    expect(texts(await readLegacyMessages({ client, key, onEvent: (event) => events.push(event) }))).toEqual([
      "a",
      "b",
    ]);
    expect(events).toEqual(
      [1, 2].map((position) => ({
        type: "record_skipped",
        sessionId: key,
        position,
        error: expect.objectContaining({ code: "corrupt" }) as Error,
      })),
    );
  });

  it("throws at the first such element with strict, and where nobody would be told", async () => {
    const notANumber = '{"type":"human","data":{"content":"q","response_metadata":{"avg_logprobs":NaN}}}';
    await client.lpush(key, JSON.stringify(human("a").toDict()), notANumber);
    for (const options of [{}, { strict: true, onEvent: () => undefined }]) {
      await expect(readLegacyMessages({ client, key, ...options })).rejects.toMatchObject({
        name: "RecordError",
        code: "corrupt",
        position: 1,
        message: expect.stringContaining("NaN") as string,
      });
    }
    expect(texts(await readLegacyMessages({ client, key, strict: false }))).toEqual(["a"]);
  });

  it("throws if the key holds something else", async () => {
    await client.set(key, "x");
    await expect(readLegacyMessages({ client, key })).rejects.toMatchObject({
      name: "StoreError",
      code: "wrong_type",
      operation: "readLegacyMessages",
      sessionId: key,
    });
  });

  it("is left as it is", async () => {
    await addMessage(human("a"));
    await client.expire(key, 100);
    await readLegacyMessages({ client, key });
    expect([await client.llen(key), await client.ttl(key)]).toEqual([1, 100]);
  });

  it.each<[string, object]>([
    ["client", { key: "k", client: {} }],
    ["key", { key: "" }],
    ["strict", { key: "k", strict: "yes" }],
    ["onEvent", { key: "k", onEvent: null }],
    ["sessionId", { key: "k", sessionId: "k" }],
  ])("is not read with a wrong option %s", async (option, options) => {
    await expect(readLegacyMessages({ client, ...options } as never)).rejects.toMatchObject({
      name: "ConfigurationError",
      option,
    });
  });
});
