import { randomBytes } from "node:crypto";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { RedisToolInvocationHistory } from "../../src/formats/tool-log/tool-invocation-history.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { startFaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { all } from "../support/all.js";
import { newMemory } from "../support/memories.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const longTtl = { sessionTTL: { seconds: 5_000, refreshOnRead: true } };
const redis = sharedClient();
let keyPrefix: string;

beforeEach(() => {
  keyPrefix = uniquePrefix();
});

/** Writes a session that expires in 1,000 seconds. */
async function writeShort(session: string) {
  const memory = newMemory({ redis: { keyPrefix }, sessionTTL: 1_000 });
  await memory.history(session, { owner: "ann" }).append([human("q"), ai("a")], { turnId: "t1" });
  await memory.drain();
}

/** The seconds that a session still lives; all its keys expire at one moment. */
async function life(session: string): Promise<number> {
  const { log, ids, state } = sessionKeys(keyPrefix, session);
  const times = await Promise.all([log, ids, state].map((key) => redis.call("PEXPIRETIME", key)));
  expect(new Set(times).size).toBe(1);
  return (await redis.pttl(log)) / 1_000;
}

describe("sessionTTL with refreshOnRead", () => {
  const config = { configurable: { sessionId: "s", turnId: "t1" } };
  const model = new FakeListChatModel({ responses: ["never"] });
  const reads: [name: string, read: (memory: RedisChatMemory) => Promise<unknown>][] = [
    ["getMessages", (memory) => memory.history("s").getMessages()],
    ["getPage", (memory) => memory.history("s").getPage()],
    ["getTranscript", (memory) => memory.history("s", { owner: "ann" }).getTranscript()],
    ["getRounds", (memory) => memory.history("s").getRounds(1)],
    ["a history for RunnableWithMessageHistory", (memory) => memory.getMessageHistory("s").getMessages()],
    [
      "HistoryManager",
      (memory) => new HistoryManager({ history: memory.history("s"), maxInputTokens: 10_000 }).getUserVisibleHistory(),
    ],
    ["a chain's stored turn", (memory) => withRedisMemory(model, { memory }).invoke([human("q")], config)],
    [
      "an agent's stored turn",
      (memory) =>
        createAgent({ model, middleware: [redisMemoryMiddleware({ memory })] }).invoke(
          { messages: [human("q")] },
          config,
        ),
    ],
  ];

  it.each(reads)("lets a session live on that %s reads, and its place in the list", async (_, read) => {
    await writeShort("s");
    const memory = newMemory({ redis: { keyPrefix }, ...longTtl });
    await read(memory);
    await memory.drain();
    expect(await life("s")).toBeGreaterThan(4_000);
    const { sessions } = await memory.sessions.list({ owner: "ann" });
    expect(sessions[0]!.expiresAt! - Date.now()).toBeGreaterThan(4_000_000);
    expect(sessions[0]!.messages).toBe(2);
  });

  it("gives a session without expiry none, and extends neither another owner's nor what an export reads", async () => {
    await writeShort("s");
    await newMemory({ redis: { keyPrefix } })
      .history("lasting")
      .append([human("q")]);
    const memory = newMemory({ redis: { keyPrefix }, ...longTtl });
    await memory.history("lasting").getMessages();
    await expect(memory.history("s", { owner: "bob" }).getMessages()).rejects.toMatchObject({ code: "other_owner" });
    expect(await all(memory.sessions.export("s"))).not.toEqual([]);
    await memory.drain();
    expect(await redis.pttl(sessionKeys(keyPrefix, "lasting").log)).toBe(-1);
    expect(await life("s")).toBeLessThan(1_001);
  });

  it("lets an encrypted session live on, and one that a tool log reads", async () => {
    const key = { id: "k1", key: randomBytes(32) };
    const options = { client: redis, redis: { keyPrefix }, encryption: { current: key } };
    const memory = new RedisChatMemory({ ...options, ...longTtl });
    const log = new RedisToolInvocationHistory({ memory, sessionId: "s" });
    await new RedisChatMemory({ ...options, sessionTTL: 100 }).history("s").append([human("q")]);
    const history = new RedisChatMessageHistory({ ...options, sessionId: "s", ...longTtl });
    await history.getMessages();
    await history.close();
    expect(await life("s")).toBeGreaterThan(4_000);
    await new RedisChatMemory({ ...options, sessionTTL: 100 }).history("s").append([ai("a")]);
    await log.toList();
    await memory.close();
    expect(await life("s")).toBeGreaterThan(4_000);
  });

  it("costs a read no further round trip, and one command a second for a session at most", async () => {
    const proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
    const commands: string[] = [];
    const onEvent = (event: { type: string; operation?: string }) => void commands.push(String(event.operation));
    const memory = new RedisChatMemory({ url: proxy.url, redis: { keyPrefix }, onEvent, ...longTtl });
    try {
      await memory.history("warm").append([human("q")]);
      await memory.history("warm").getMessages();
      await memory.drain();
      await newMemory({ redis: { keyPrefix }, sessionTTL: 100 })
        .history("s")
        .append([human("q")]);
      await memory.history("s").stats();
      proxy.resetFlights();
      commands.length = 0;
      await memory.history("s").getMessages();
      expect(proxy.flights()).toBe(1);
      const began = performance.now();
      await Promise.all(Array.from({ length: 20 }, () => memory.history("s").getPage()));
      await memory.drain();
      const extended = commands.filter((operation) => operation === "extendExpiry").length;
      expect(extended).toBeLessThanOrEqual(2 + (performance.now() - began) / 1_000);
    } finally {
      await memory.close();
      await proxy.stop();
    }
  });
});
