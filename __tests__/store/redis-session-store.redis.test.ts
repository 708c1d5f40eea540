import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import type { MemoryEvent } from "../../src/base/events.js";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { asRead, human, record, records, texts } from "../../testing/session-store/store-case.js";
import { startFaultProxy, type FaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { startRedis, type PrivateRedis } from "../../tools/testkit/servers/redis-server.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const refused = (option: string, message?: RegExp) =>
  expect.objectContaining({
    name: "ConfigurationError",
    option,
    ...(message && { message: expect.stringMatching(message) }),
  });

describe("RedisSessionStore's keys", () => {
  const client = sharedClient();
  let store: RedisSessionStore;
  let keyPrefix: string;
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
  });

  const keysOf = async () => (await client.keys(`${keyPrefix}*`)).sort();

  it("are three with one hash tag, which exist as long as the session", async () => {
    await store.append({ id: "alice{1}" }, { records: [human("q")], ttlMs: 60_000, side: { set: { "tool:1": "x" } } });
    const all = ["ids", "log", "state"].map((part) => `${keyPrefix}:{alice%7B1%7D}:${part}`);
    expect(await keysOf()).toEqual(all);
    const view = await store.readView({ id: "alice{1}" });
    await store.commitReduction({ id: "alice{1}" }, { ...asRead(view), start: 1, head: "h", headCount: 1 });
    await store.data.writeSide({ id: "alice{1}" }, { remove: ["tool:1"] });
    expect(await keysOf()).toEqual(all);
    await store.clear({ id: "alice{1}" });
    expect(await keysOf()).toEqual([]);
  });

  it("do not remain after a lease is acquired and released", async () => {
    const token = await store.data.acquireLease({ id: "s" }, 60_000);
    expect(await keysOf()).toEqual([`${keyPrefix}:{s}:lease`]);
    expect(await client.pttl(`${keyPrefix}:{s}:lease`)).toBeGreaterThan(50_000);
    await store.data.releaseLease({ id: "s" }, token!);
    expect(await keysOf()).toEqual([]);
  });
});

describe("RedisSessionStore's round trips", () => {
  let server: PrivateRedis;
  let proxy: FaultProxy;
  let client: Redis;
  let store: RedisSessionStore;
  let events: MemoryEvent[];
  let keyPrefix: string;
  beforeAll(async () => {
    // A server of its own, because one test makes it forget all scripts, which would cost those of other suites a round
    // trip.
    server = await startRedis();
    proxy = await startFaultProxy(server.port);
    client = new Redis(proxy.url);
    await client.ping();
  });
  beforeEach(async () => {
    events = [];
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix, onEvent: (event) => events.push(event) });
    // Every script is known to the server from here on.
    await store.append({ id: "warm" }, { records: records("a", 2) });
    await store.readView({ id: "warm" });
    await readLastRounds(store, { id: "warm" }, 1);
    const view = await store.readView({ id: "warm" });
    await store.commitReduction({ id: "warm" }, { ...asRead(view), start: 1, head: "h", headCount: 1 });
    await store.data.writeSide({ id: "warm" }, { set: { field: "x" } });
    await store.data.readSide({ id: "warm" }, "");
  });
  afterAll(async () => {
    client.disconnect();
    await proxy.stop();
    await server.stop();
  });

  const flightsOf = async (work: () => Promise<unknown>) => {
    events = [];
    proxy.resetFlights();
    await work();
    expect(events.filter(({ type }) => type === "command")).toHaveLength(proxy.flights());
    return proxy.flights();
  };

  it("are one for a view, known or not, reduced or not, whoever reduced it", async () => {
    await store.append({ id: "s" }, { records: records("a", 300) });
    expect(await flightsOf(() => store.readView({ id: "s" }))).toBe(1);
    expect(await flightsOf(() => store.readView({ id: "s" }))).toBe(1);
    expect(await flightsOf(() => store.readView({ id: "unknown" }, { neverReduced: true }))).toBe(1);
    const view = await store.readView({ id: "s" });
    const elsewhere = new RedisSessionStore({ client, keyPrefix });
    await elsewhere.commitReduction({ id: "s" }, { ...asRead(view), start: 290, head: "h", headCount: 1 });
    expect(await flightsOf(async () => expect((await store.readView({ id: "s" })).records).toHaveLength(10))).toBe(1);
    expect(await flightsOf(async () => expect((await store.readView({ id: "s" })).records).toHaveLength(10))).toBe(1);
  });

  it("are one for rounds (two for long ones), a page, a commit and side fields, and four for clearing", async () => {
    const view = (
      await store.append({ id: "s" }, { records: [human("q"), ...records("a", 300)], viewLimit: { messages: 1 } })
    ).view!;
    expect(await flightsOf(() => readLastRounds(store, { id: "s" }, 40))).toBe(1);
    expect(await flightsOf(() => readLastRounds(store, { id: "s" }, 3))).toBe(2);
    expect(await flightsOf(() => readLog(store, { id: "s" }, { from: 5, limit: 10 }))).toBe(1);
    expect(
      await flightsOf(() =>
        store.commitReduction({ id: "s" }, { ...asRead(view), start: 290, head: "h", headCount: 1 }),
      ),
    ).toBe(1);
    expect(await flightsOf(() => store.data.writeSide({ id: "s" }, { set: { field: "x" } }))).toBe(1);
    expect(await flightsOf(() => store.data.readSide({ id: "s" }, ""))).toBe(1);
    // It asks first which life of the session it ends, and which thread and run go with it.
    proxy.resetFlights();
    await store.clear({ id: "s" });
    expect(proxy.flights()).toBe(4);
  });

  it("do not carry a script's text again for another store on the same client", async () => {
    await store.append({ id: "s" }, { records: records("a", 1) });
    const sent = jest.spyOn(client, "call");
    await new RedisSessionStore({ client, keyPrefix }).append({ id: "s" }, { records: records("b", 1) });
    expect(sent.mock.calls.map(([verb]) => verb)).toEqual(["evalsha"]);
    sent.mockRestore();
  });

  it("are one more, once, after the script cache is flushed", async () => {
    await store.append({ id: "s" }, { records: records("a", 2) });
    await client.script("FLUSH");
    expect(await flightsOf(() => store.append({ id: "s" }, { records: records("b", 2) }))).toBe(2);
    expect(await flightsOf(() => store.append({ id: "s" }, { records: records("c", 2) }))).toBe(1);
    expect((await store.readView({ id: "s" })).records).toEqual(
      texts([...records("a", 2), ...records("b", 2), ...records("c", 2)]),
    );
  });
});

describe("RedisSessionStore's connection", () => {
  const connections = async (name: string) => {
    const probe = new Redis(sharedRedisUrl());
    const list = (await probe.client("LIST")) as string;
    probe.disconnect();
    return list.split("\n").filter((line) => line.includes(`name=${name}`)).length;
  };

  it("is an ioredis Redis or Cluster, of version 5 or 6, without a cast", () => {
    const clients: (RedisClient & { disconnect(): void })[] = [
      new Redis({ lazyConnect: true }),
      new Redis({ lazyConnect: true, replyMapping: "resp3" }),
      new Cluster([], { lazyConnect: true }),
      new Redis5({ lazyConnect: true }),
      new Cluster5([], { lazyConnect: true }),
    ];
    for (const client of clients) {
      expect(() => new RedisSessionStore({ client })).not.toThrow();
      client.disconnect();
    }
  });

  it("stays the caller's: the store adds no methods and does not close it", async () => {
    const client = new Redis(sharedRedisUrl());
    await client.ping();
    const before = [
      Object.keys(client).sort(),
      Object.keys(Object.getPrototypeOf(client) as object).sort(),
      client.listenerCount("error"),
    ];
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
    await store.append({ id: "s" }, { records: records("a", 2) });
    await store.readView({ id: "s" });
    await readLastRounds(store, { id: "s" }, 1);
    await store.clear({ id: "s" });
    await store.close();
    expect([
      Object.keys(client).sort(),
      Object.keys(Object.getPrototypeOf(client) as object).sort(),
      client.listenerCount("error"),
    ]).toEqual(before);
    expect(await client.ping()).toBe("PONG");
    client.disconnect();
  });

  it("is opened on the first call and closed with the store, for ioredis and node-redis options", async () => {
    const { port } = new URL(sharedRedisUrl());
    const configs = [
      { host: "127.0.0.1", port: Number(port), connectionName: "own-ioredis" },
      { socket: { host: "127.0.0.1", port: Number(port) }, name: "own-node-redis" },
    ];
    for (const config of configs) {
      const name = "connectionName" in config ? config.connectionName! : config.name!;
      const store = new RedisSessionStore({ config, keyPrefix: uniquePrefix() });
      expect(await connections(name)).toBe(0);
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => store.append({ id: `s${index}` }, { records: [record("a")] })),
      );
      expect(await connections(name)).toBe(1);
      await store.close();
      expect(await connections(name)).toBe(0);
      await expect(store.readView({ id: "s0" })).rejects.toMatchObject({ name: "StoreError", code: "closed" });
    }
  });

  it("completes the calls in progress before it closes", async () => {
    const store = new RedisSessionStore({ url: sharedRedisUrl(), keyPrefix: uniquePrefix() });
    await store.readView({ id: "s" });
    const pending = store.append({ id: "s" }, { records: records("a", 100) });
    await new Promise((resolve) => setImmediate(resolve));
    await store.close();
    await expect(pending).resolves.toMatchObject({ appended: 100 });
  });

  it("closes a store that never connected", async () => {
    await new RedisSessionStore({ url: "redis://127.0.0.1:1" }).close();
  });

  it("must be specified exactly once", () => {
    const url = sharedRedisUrl();
    expect(() => new RedisSessionStore({} as never)).toThrow(refused("client", /exactly one of/));
    expect(() => new RedisSessionStore({ url, config: {} } as never)).toThrow(refused("client", /url and config/));
  });

  it("is refused with a clear message if it is not an ioredis client", () => {
    const nodeRedis = { hSet: () => 1, sendCommand: () => 1, multi: () => 1, isOpen: true } as unknown as RedisClient;
    expect(() => new RedisSessionStore({ client: nodeRedis })).toThrow(refused("client", /node-redis/));
    expect(() => new RedisSessionStore({ client: {} as RedisClient })).toThrow(
      refused("client", /ioredis Redis or Cluster/),
    );
    expect(() => new RedisSessionStore({ client: null as unknown as RedisClient })).toThrow(refused("client"));
    const client = new Redis({ lazyConnect: true });
    expect(() => new RedisSessionStore({ config: client as unknown as Record<string, unknown> })).toThrow(
      refused("config", /as "client"/),
    );
    client.disconnect();
  });

  it.each(["http://host", "localhost:6379", "", "redis://", "redis://a b", 7, null])(
    "is refused for the URL %j, without showing it",
    (url) => {
      expect(() => new RedisSessionStore({ url: url as string })).toThrow(refused("url", /redis:\/\//));
      expect(() => new RedisSessionStore({ url: "http://:secret@host" })).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining("secret") }),
      );
    },
  );
});

describe("RedisSessionStore's options", () => {
  it("allow as many records per append as a command can hold, and refuse more before it fails", async () => {
    const store = new RedisSessionStore({ url: sharedRedisUrl(), keyPrefix: uniquePrefix(), commandTimeout: 200_000 });
    const most = Array.from({ length: 300_000 }, (_, index) => ({
      id: String(index),
      digest: "01234567",
      record: String(index),
    }));
    await expect(
      store.append({ id: "s" }, { records: [...most, { ...most[0]!, id: "one more" }] }),
    ).rejects.toMatchObject({
      code: "too_large",
    });
    expect((await store.append({ id: "s" }, { records: most })).next).toBe(most.length);
    expect((await readLog(store, { id: "s" }, { from: most.length - 1 })).records).toEqual([String(most.length - 1)]);
    await store.clear({ id: "s" });
    await store.close();
  });
});
