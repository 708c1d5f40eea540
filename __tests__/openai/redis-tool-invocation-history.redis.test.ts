import { HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { RedisToolInvocationHistory } from "../../src/formats/tool-log/redis-tool-invocation-history.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const run = { name: "search", inputs: { query: "Oslo" }, outputs: "4 °C", status: "success" };

describe("RedisToolInvocationHistory on Redis", () => {
  const client = sharedClient();
  const keyPrefix = uniquePrefix();

  it("has no key of its own: records are fields of the session's state, with the same expiry", async () => {
    const history = new RedisChatMessageHistory({ sessionId: "s", client, redis: { keyPrefix }, sessionTTL: 100 });
    const memory = new RedisChatMemory({ client, redis: { keyPrefix }, sessionTTL: 200 });
    const log = new RedisToolInvocationHistory({ memory, sessionId: "s" });
    await history.addMessage(new HumanMessage("Hi"));
    const keys = (await client.keys(`${keyPrefix}:*`)).sort();
    const records = [await log.addInvocation(run), await log.addInvocation({ ...run, toolCallId: "c" })];
    expect((await client.keys(`${keyPrefix}:*`)).sort()).toEqual(keys);
    const expiries = await Promise.all(keys.map((key) => client.pexpiretime(key)));
    expect(new Set(expiries).size).toBe(1);
    expect(expiries[0]).toBeGreaterThan(Date.now() + 150_000);
    expect(await new RedisToolInvocationHistory({ history }).toList()).toEqual(records);
    await history.clear();
    expect(await log.length).toBe(0);
  });

  it("keeps all records of concurrent writers, up to the limit", async () => {
    const logs = Array.from(
      { length: 4 },
      () =>
        new RedisToolInvocationHistory({
          memory: new RedisChatMemory({ client, redis: { keyPrefix } }),
          sessionId: "many",
          limit: 30,
        }),
    );
    const added = await Promise.all(logs.flatMap((log) => Array.from({ length: 10 }, () => log.addInvocation(run))));
    const newest = added
      .map(({ id }) => id)
      .sort()
      .slice(-30);
    expect((await logs[0]!.toList()).map(({ id }) => id)).toEqual(newest);
  });

  it("works on the connection of its memory, and ends with it", async () => {
    const memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix } });
    const log = new RedisToolInvocationHistory({ memory, sessionId: "url" });
    await memory.history("url").addMessage(new HumanMessage("Hi"));
    await log.addInvocation(run);
    expect(await log.length).toBe(1);
    await memory.close();
    await expect(log.toList()).rejects.toMatchObject({ code: "closed" });
    expect(await client.ping()).toBe("PONG");
  });
});
