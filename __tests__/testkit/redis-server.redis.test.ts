import { createServer } from "node:net";
import { Redis } from "ioredis";
import { freePort, onFreePort, startRedis, startRedisOn } from "../../tools/testkit/servers/redis-server.js";
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

  it("start on another port where something came first", async () => {
    const other = createServer((socket) => socket.destroy());
    const tried: number[] = [];
    const server = await onFreePort(async (port) => {
      tried.push(port);
      if (tried.length === 1) {
        await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
      }
      return startRedisOn(port);
    });
    expect(tried).toEqual([expect.any(Number), server.port]);
    await server.stop();
    await new Promise((resolve) => other.close(resolve));
  });

  it("take ports whose port of a cluster's bus no process is given", async () => {
    const port = await freePort();
    expect([port >= 10_000, port < 20_000]).toEqual([true, true]);
  });

  it("report that they cannot start", async () => {
    await expect(startRedis(["--no-such-option", "1"])).rejects.toThrow("redis-server stopped at start");
  });
});
