import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import type { MemoryEvent } from "../../src/events.js";
import type { RedisClient } from "../../src/store/redis/redis-client.js";
import { RedisSessionStore } from "../../src/store/redis/redis-session-store.js";
import { record } from "../../src/testing/session-store/store-case.js";
import { startFaultProxy, type FaultProxy } from "../support/fault-proxy.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

describe("RedisSessionStore on a connection that died silently", () => {
  let proxy: FaultProxy;
  let events: MemoryEvent[];
  let common: { keyPrefix: string; commandTimeout: number; onEvent: (event: MemoryEvent) => void };
  beforeEach(async () => {
    proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
    events = [];
    common = { keyPrefix: uniquePrefix(), commandTimeout: 400, onEvent: (event) => events.push(event) };
  });
  afterEach(() => proxy.stop());

  const stalls = () => events.filter(({ type }) => type === "connection_stalled");
  const append = (store: RedisSessionStore, id: string) => store.append("s", { records: [record(id)] });

  it.each(["url", "config", "client", "client of ioredis 5"])(
    "succeeds on a new connection, by %s with socketTimeout",
    async (way) => {
      const at = { host: "127.0.0.1", port: proxy.port };
      const socketTimeout = 300;
      const client =
        way === "client"
          ? new Redis({ ...at, socketTimeout })
          : way === "client of ioredis 5"
            ? new Redis5({ ...at, socketTimeout })
            : undefined;
      client?.on("error", () => undefined);
      const source =
        client !== undefined ? { client: client as RedisClient } : way === "url" ? { url: proxy.url } : { config: at };
      const store = new RedisSessionStore({ ...common, ...source });
      await append(store, "a");
      proxy.stall();
      // The first call may run into its timeout; by then the connection is left.
      await append(store, "b").catch(() => undefined);
      expect(await append(store, "b")).toMatchObject({ next: 2 });
      expect(await append(store, "c")).toMatchObject({ appended: 1, next: 3 });
      expect(stalls()).toEqual([]);
      await store.close();
      client?.disconnect();
    },
  );

  it("tells of a client without socketTimeout after three timeouts in a row, once for each connection", async () => {
    const client = new Redis({ host: "127.0.0.1", port: proxy.port, retryStrategy: () => 20 });
    const store = new RedisSessionStore({ ...common, client, commandTimeout: 150 });
    await append(store, "a");
    for (let round = 0; round < 2; round += 1) {
      proxy.stall();
      for (let count = 0; count < 4; count += 1) {
        expect(stalls()).toHaveLength(round + (count < 3 ? 0 : 1));
        await expect(append(store, "b")).rejects.toMatchObject({ code: "timeout" });
      }
      proxy.cut();
      await store.readView("s");
    }
    expect(stalls()).toEqual(
      Array(2).fill({ type: "connection_stalled", sessionId: "s", operation: "append", timeouts: 3 }),
    );
    client.disconnect();
  });

  it("does not tell of a server that is slow but answers, late", async () => {
    const client = new Redis({ host: "127.0.0.1", port: proxy.port });
    const store = new RedisSessionStore({ ...common, client, commandTimeout: 60 });
    await append(store, "a");
    proxy.delayReplies(90);
    for (let count = 0; count < 5; count += 1) {
      await expect(append(store, `b${count}`)).rejects.toMatchObject({ code: "timeout" });
    }
    expect(stalls()).toEqual([]);
    client.disconnect();
  });

  it("replaces a connection of its own after three timeouts where socketTimeout is too long", async () => {
    const config = { host: "127.0.0.1", port: proxy.port, socketTimeout: 60_000, disconnectTimeout: 50 };
    const store = new RedisSessionStore({ ...common, config, commandTimeout: 150 });
    await append(store, "a");
    proxy.stall();
    for (let count = 0; count < 3; count += 1) {
      await expect(append(store, "b")).rejects.toMatchObject({ code: "timeout" });
    }
    expect(stalls()).toHaveLength(1);
    let next = 0;
    for (let attempt = 0; attempt < 20 && next === 0; attempt += 1) {
      next = await append(store, "b").then(
        (result) => result.next,
        () => 0,
      );
    }
    expect(next).toBe(2);
    await store.close();
  });
});
