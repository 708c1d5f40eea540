import { HumanMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { RedisChatMessageHistory } from "../../src/memory/redis-chat-message-history.js";
import { RedisToolInvocationHistory } from "../../src/tool-log/redis-tool-invocation-history.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const run = { name: "search", inputs: { query: "Oslo" }, outputs: "4 °C", status: "success" };

describe("RedisToolInvocationHistory on Redis", () => {
  let client: Redis;
  const keyPrefix = uniquePrefix();

  beforeAll(() => {
    client = new Redis(sharedRedisUrl());
  });
  afterAll(() => client.quit());

  it("has no key of its own: records are fields of the session's state, with the same expiry", async () => {
    const history = new RedisChatMessageHistory({ sessionId: "s", client, keyPrefix, sessionTTL: 100 });
    const log = new RedisToolInvocationHistory({ sessionId: "s", client, keyPrefix, sessionTTL: 200 });
    await history.addMessage(new HumanMessage("Hi"));
    const keys = (await client.keys(`${keyPrefix}:*`)).sort();
    const records = [await log.addInvocation(run), await log.addInvocation({ ...run, toolCallId: "c" })];
    expect((await client.keys(`${keyPrefix}:*`)).sort()).toEqual(keys);
    const expiries = await Promise.all(keys.map((key) => client.pexpiretime(key)));
    expect(new Set(expiries).size).toBe(1);
    expect(expiries[0]).toBeGreaterThan(Date.now() + 150_000);
    expect(await new RedisToolInvocationHistory({ sessionId: "s", client, keyPrefix }).toList()).toEqual(records);
    await history.clear();
    expect(await log.length).toBe(0);
  });

  it("keeps all records of concurrent writers, up to the limit", async () => {
    const logs = Array.from(
      { length: 4 },
      () => new RedisToolInvocationHistory({ sessionId: "many", client, keyPrefix, limit: 30 }),
    );
    const added = await Promise.all(logs.flatMap((log) => Array.from({ length: 10 }, () => log.addInvocation(run))));
    const newest = added
      .map(({ id }) => id)
      .sort()
      .slice(-30);
    expect((await logs[0]!.toList()).map(({ id }) => id)).toEqual(newest);
  });

  it("opens a connection for a URL and closes it", async () => {
    const log = new RedisToolInvocationHistory({ sessionId: "url", url: sharedRedisUrl(), keyPrefix });
    await log.addInvocation(run);
    expect(await log.length).toBe(1);
    await log.close();
    await expect(log.toList()).rejects.toMatchObject({ code: "closed" });
    expect(await client.ping()).toBe("PONG");
  });
});
