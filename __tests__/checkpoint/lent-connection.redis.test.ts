import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { threadKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { ownServer } from "../support/own-server.js";

const marker = "a text that no other message has ".repeat(10);

function answering(checkpointer: RedisSaver) {
  return new StateGraph(MessagesAnnotation)
    .addNode("answer", () => ({ messages: [new AIMessage({ content: marker, id: "a1" })] }))
    .addEdge(START, "answer")
    .compile({ checkpointer });
}

describe("A saver on the connection of a memory", () => {
  // A server of its own: connections are counted.
  const own = ownServer(startRedis);

  const config = { configurable: { thread_id: "ann-1" } };
  const stored = async (keyPrefix: string) => {
    const keys = Object.values(threadKeys(keyPrefix, "ann-1"));
    const dumps = await Promise.all(keys.map((key) => own.client.dumpBuffer(key)));
    return {
      keys: await own.client.exists(...keys),
      text: Buffer.concat(dumps.filter((dump) => dump !== null)).toString("latin1"),
    };
  };

  it("opens none of its own, and leaves it open", async () => {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({ url: own.server.url, keyPrefix });
    const memory = new RedisChatMemory({ store });
    const history = memory.history("ann-1");
    await history.addMessages([new HumanMessage("Hi")]);
    const clients = async () => String(await own.client.client("LIST")).split("\n").length;
    const before = await clients();
    const saver = new RedisSaver({ memory });
    await answering(saver).invoke({ messages: [new HumanMessage("Hi")] }, config);
    expect(await clients()).toBe(before);
    expect((await stored(keyPrefix)).keys).toBe(3);
    await saver.close();
    expect((await history.getMessages()).map(({ text }) => text)).toEqual(["Hi"]);
    await memory.close();
    await store.close();
    await expect(saver.getTuple(config)).rejects.toMatchObject({ code: "closed" });
  });

  it("refuses a memory that keeps its sessions elsewhere, and options that the memory has", () => {
    const inMemory = new RedisChatMemory({ store: new InMemorySessionStore() });
    expect(() => new RedisSaver({ memory: inMemory })).toThrow(/must be a RedisChatMemory on Redis/);
    expect(() => new RedisSaver({ memory: { history: () => undefined } as never })).toThrow(/on Redis/);
    const memory = new RedisChatMemory({ client: own.client });
    for (const option of [
      { url: "redis://localhost" },
      { client: own.client },
      { encryption: testKeys("k1") },
      { keyPrefix: "x" },
    ]) {
      expect(() => new RedisSaver({ memory, ...option } as never)).toThrow(/cannot be combined with "memory"/);
    }
  });
});
