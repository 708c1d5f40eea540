import { Redis } from "ioredis";
import { startRedis } from "../../testkit/servers/redis-server.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

describe("the private servers of the tests", () => {
  it("share one that answers, not on Redis's default port", async () => {
    const client = new Redis(sharedRedisUrl());
    expect(await client.ping()).toBe("PONG");
    expect(client.options.port).not.toBe(6379);
    await client.quit();
  });

  it("start empty, accept arguments, and are gone after stop", async () => {
    const server = await startRedis(["--maxmemory", "20mb"]);
    const client = new Redis(server.url, { retryStrategy: () => null });
    client.on("error", () => undefined);
    expect(await client.dbsize()).toBe(0);
    expect(await client.config("GET", "maxmemory")).toEqual(["maxmemory", "20971520"]);
    await server.stop();
    await expect(client.set(uniquePrefix(), "value")).rejects.toThrow();
    expect(server.process.signalCode).toBe("SIGKILL");
  });

  it("report that they cannot start", async () => {
    await expect(startRedis(["--no-such-option", "1"])).rejects.toThrow("redis-server stopped at start");
  });
});
