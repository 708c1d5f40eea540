import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import type { MemoryEvent } from "../../src/base/events.js";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { record } from "../../testing/session-store/store-case.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { startFaultProxy, type FaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { untilAnswered } from "../support/until-answered.js";

describe("RedisSessionStore on a connection that died silently", () => {
  const closed = closedAfterEach();
  let proxy: FaultProxy;
  let events: MemoryEvent[];
  let common: { keyPrefix: string; commandTimeout: number; onEvent: (event: MemoryEvent) => void };
  beforeEach(async () => {
    proxy = closed(await startFaultProxy(Number(new URL(sharedRedisUrl()).port)));
    events = [];
    common = { keyPrefix: uniquePrefix(), commandTimeout: 150, onEvent: (event) => events.push(event) };
  });

  const stalls = () => events.filter(({ type }) => type === "connection_stalled");
  const append = (store: RedisSessionStore, id: string) => store.append({ id: "s" }, { records: [record(id)] });
  /** A client without `socketTimeout`, a store on it that gives up soon, and one that does not. */
  const onOneClient = () => {
    const client = closed(new Redis({ host: "127.0.0.1", port: proxy.port, retryStrategy: () => 20 }));
    const store = new RedisSessionStore({ ...common, client });
    return { store, patient: new RedisSessionStore({ ...common, client, commandTimeout: 60_000 }) };
  };

  it.each(["url", "config", "client", "client of ioredis 5"])(
    "succeeds on a new connection, by %s with socketTimeout",
    async (way) => {
      const at = { host: "127.0.0.1", port: proxy.port };
      const commandTimeout = 800;
      const socketTimeout = 0.75 * commandTimeout;
      const client =
        way === "client"
          ? closed(new Redis({ ...at, socketTimeout }))
          : way === "client of ioredis 5"
            ? closed(new Redis5({ ...at, socketTimeout }))
            : undefined;
      client?.on("error", () => undefined);
      const source =
        client !== undefined ? { client: client as RedisClient } : way === "url" ? { url: proxy.url } : { config: at };
      const store = closed(new RedisSessionStore({ ...common, ...source, commandTimeout }));
      await untilAnswered(() => append(store, "a"));
      proxy.stall();
      // The first call may run into its timeout; by then the connection is left, and the next one succeeds. Where the
      // machine is slow, a healthy connection may be left as well.
      expect(await untilAnswered(() => append(store, "b"))).toMatchObject({ next: 2 });
      expect(await untilAnswered(() => append(store, "c"))).toMatchObject({ next: 3 });
      // What replaces a connection that nobody left is told as a stall.
      expect(stalls()).toEqual([]);
    },
  );

  it("tells of a client without socketTimeout after three timeouts in a row, once for each connection", async () => {
    const { store, patient } = onOneClient();
    await append(patient, "a");
    for (let round = 0; round < 2; round += 1) {
      proxy.stall();
      for (let count = 0; count < 4; count += 1) {
        expect(stalls()).toHaveLength(round + (count < 3 ? 0 : 1));
        await expect(append(store, "b")).rejects.toMatchObject({ code: "timeout" });
      }
      proxy.cut();
      await patient.readView({ id: "s" });
    }
    expect(stalls()).toEqual(
      Array(2).fill({ type: "connection_stalled", sessionId: "s", operation: "append", timeouts: 3 }),
    );
  });

  it("does not tell of a server that is slow but answers, late", async () => {
    const { store, patient } = onOneClient();
    await append(patient, "a");
    for (let count = 0; count < 5; count += 1) {
      proxy.holdReplies();
      await expect(append(store, `b${count}`)).rejects.toMatchObject({ code: "timeout" });
      proxy.releaseReplies();
      // It is answered after the append that was given up.
      await patient.readView({ id: "s" });
    }
    expect(stalls()).toEqual([]);
  });

  it("replaces a connection of its own after three timeouts where socketTimeout is too long", async () => {
    const config = { host: "127.0.0.1", port: proxy.port, socketTimeout: 60_000, disconnectTimeout: 50 };
    const store = closed(new RedisSessionStore({ ...common, config }));
    await untilAnswered(() => append(store, "a"));
    events.length = 0;
    proxy.stall();
    for (let count = 0; count < 3; count += 1) {
      await expect(append(store, "b")).rejects.toMatchObject({ code: "timeout" });
    }
    expect(stalls()).toHaveLength(1);
    expect(await untilAnswered(() => append(store, "b"))).toMatchObject({ next: 2 });
  });
});
