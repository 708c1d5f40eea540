import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { END, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { Redis } from "ioredis";
import { RedisChatMemory, type MemoryEvent } from "langchain-redis-memory";
import { RedisStore } from "langchain-redis-memory/checkpoint";
import * as z from "zod";
import { startContractServer } from "../contract/contract-server.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { allLeastCommands, partCommands } from "../support/least-commands.js";
import { ownServer } from "../support/own-server.js";
import { uniquePrefix } from "../support/shared-redis.js";

describe("RedisStore", () => {
  // A server of its own: its clock is moved, its commands are counted, and connections are.
  const own = ownServer(startContractServer);
  const closed = closedAfterEach();
  const open = (settings: object = {}) =>
    new RedisStore({ client: own.client, keyPrefix: uniquePrefix(), commandTimeout: 60_000, ...settings });
  const keysOf = (keyPrefix: string) =>
    ["values", "names", "expiry"].map((part) => `${keyPrefix}:{store:items}:${part}`) as [string, string, string];

  it("is one round trip for each call, and for a batch", async () => {
    const operations: string[] = [];
    const store = open({
      onEvent: (event: MemoryEvent) => event.type === "command" && operations.push(event.operation),
    });
    await store.put(["a"], "k", { x: 1 });
    await store.get(["a"], "k");
    await store.search(["a"], { filter: { x: 1 } });
    await store.listNamespaces({ suffix: ["a"] });
    await store.batch([
      { namespace: ["a"], key: "k" },
      { namespace: ["b", "c"], key: "k", value: { x: 2 } },
      { namespacePrefix: [] },
    ]);
    await store.delete(["a"], "k");
    expect(operations).toEqual(["put", "get", "search", "listNamespaces", "batch", "delete"]);
    expect(await store.batch([])).toEqual([]);
    expect(operations).toHaveLength(6);
  });

  it("keeps the time of creation, and takes times from the server's clock", async () => {
    const store = open();
    await store.put(["a"], "k", { x: 1 });
    const first = (await store.get(["a"], "k"))!;
    own.server.wait(5_000);
    await store.put(["a"], "k", { x: 2 });
    const second = (await store.get(["a"], "k"))!;
    expect(second.createdAt).toEqual(first.createdAt);
    expect(second.updatedAt.getTime() - first.updatedAt.getTime()).toBeGreaterThanOrEqual(5_000);
    await store.delete(["a"], "k");
    await store.put(["a"], "k", { x: 3 });
    expect((await store.get(["a"], "k"))!.createdAt.getTime()).toBeGreaterThan(first.createdAt.getTime());
  });

  it("lets each item expire by itself, and the keys with the last one", async () => {
    const keyPrefix = uniquePrefix();
    const store = open({ keyPrefix, itemTTL: 600 });
    await store.put(["a"], "short", { x: 1 });
    await store.put(["a", "b"], "long", { x: 2 }, undefined, { itemTTL: 6_000 });
    own.server.wait(601_000);
    expect(await store.get(["a"], "short")).toBeNull();
    expect((await store.search(["a"])).map(({ key }) => key)).toEqual(["long"]);
    expect((await store.search(["a"], { filter: {} })).map(({ key }) => key)).toEqual(["long"]);
    expect(await store.listNamespaces()).toEqual([["a", "b"]]);
    const keys = keysOf(keyPrefix);
    expect(await own.client.hlen(keys[0])).toBe(1);
    await store.put(["c"], "short", { x: 3 });
    expect(await own.client.hlen(keys[0])).toBe(2);
    expect(new Set(await ttlsOfOneMoment(own.client, keys)).size).toBe(1);
    own.server.wait(6_000_000);
    expect(await own.client.exists(...keys)).toBe(0);
  });

  it("never expires where an item has no expiry, also one that had one", async () => {
    const keyPrefix = uniquePrefix();
    const [store, mortal] = [open({ keyPrefix }), open({ keyPrefix, itemTTL: 60 })];
    await mortal.put(["a"], "k", { x: 1 });
    await store.put(["a"], "k", { x: 2 });
    own.server.wait(61_000);
    expect((await mortal.get(["a"], "k"))!.value).toEqual({ x: 2 });
  });

  it("keeps alive what is read, where the item says so", async () => {
    const refreshing = open({ itemTTL: { seconds: 600, refreshOnRead: true } });
    await refreshing.put(["a"], "read", { x: 1 });
    await refreshing.put(["a"], "found", { x: 2 });
    await refreshing.put(["b"], "paged", { x: 3 });
    await refreshing.put(["a"], "forgotten", { x: 4 });
    for (let hour = 0; hour < 3; hour += 1) {
      own.server.wait(400_000);
      expect(await refreshing.get(["a"], "read")).not.toBeNull();
      expect(await refreshing.search(["a"], { filter: { x: 2 } })).toHaveLength(1);
      expect(await refreshing.search(["b"])).toHaveLength(1);
    }
    expect(await refreshing.get(["a"], "forgotten")).toBeNull();
  });

  it("refuses a query, what JSON cannot hold, and names that no store takes, and says what to do", async () => {
    const store = open({ maxItemBytes: 100 });
    await expect(store.search(["a"], { query: "cats" })).rejects.toMatchObject({
      option: "query",
      message: expect.stringContaining("vector store"),
    });
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const lost = [new Set(["a"]), new Map([["a", 1]]), new Uint8Array(3), new ArrayBuffer(3), /a/, new Error("a"), NaN];
    const others = [Infinity, [undefined], () => 1, Symbol("a"), new WeakMap(), Promise.resolve()];
    const inside = [...lost, ...others].flatMap((field) => [{ field }, { deep: [{ field }] }]);
    for (const value of [circular, { big: 1n }, "text", undefined, new Map(), ...inside]) {
      await expect(store.put(["a"], "k", value as never)).rejects.toMatchObject({ option: "value" });
    }
    await expect(store.put(["a"], "k", { x: "é".repeat(60) })).rejects.toMatchObject({ code: "too_large" });
    for (const namespace of [[], ["a.b"], ["a:b"], [""], ["a\0"], ["langgraph"], [7], ["\ud800"]]) {
      await expect(store.put(namespace as string[], "k", {})).rejects.toThrow(InvalidNamespaceError);
    }
    for (const key of ["a\0b", "\udc00", 7]) {
      await expect(store.get(["a"], key as string)).rejects.toMatchObject({ option: "key" });
    }
    await expect(store.search(["a"], { limit: -1 })).rejects.toMatchObject({ option: "limit" });
    await expect(store.listNamespaces({ offset: 0.5 })).rejects.toMatchObject({ option: "offset" });
    await expect(store.listNamespaces({ maxDepth: 0 })).rejects.toMatchObject({ option: "maxDepth" });
    await expect(store.put(["a"], "k", {}, undefined, { itemTTL: 0 })).rejects.toMatchObject({ option: "itemTTL" });
    expect(await store.search([])).toEqual([]);
  });

  it("refuses to go through more than 10,000 items or namespaces, and reads pages of them", async () => {
    const store = open({ commandTimeout: 200_000 });
    for (let from = 0; from < 10_001; from += 1_000) {
      const numbers = Array.from({ length: Math.min(1_000, 10_001 - from) }, (_, index) => from + index);
      await store.batch(numbers.map((x) => ({ namespace: ["n", `${x}`], key: "k", value: { x } })));
    }
    for (const refused of [
      store.search([], { filter: { x: 3 } }),
      store.search([], { limit: 20_000 }),
      store.search(["n"], { offset: 10_000 }),
      store.listNamespaces({ suffix: ["3"] }),
      store.listNamespaces({ limit: Infinity }),
    ]) {
      await expect(refused).rejects.toMatchObject({ code: "too_large", message: expect.stringContaining("10000") });
    }
    expect(await store.search(["n"], { limit: 3, offset: 9_990 })).toHaveLength(3);
    expect(await store.listNamespaces({ limit: 5, offset: 10 })).toHaveLength(5);
    expect(await store.listNamespaces({ maxDepth: 1 })).toEqual([["n"]]);
    await store.delete(["n", "17"], "k");
    expect(await store.search([], { filter: { x: 3 } })).toHaveLength(1);
    expect(await store.deleteNamespace(["n"])).toBe(10_000);
    expect(await store.search([])).toEqual([]);
  });

  it("says where a key is missing or another program's, and removes the rest", async () => {
    const keyPrefix = uniquePrefix();
    const store = open({ keyPrefix });
    for (const key of keysOf(keyPrefix)) {
      await store.put(["a"], "k", { x: 1 });
      await own.client.del(key);
      await expect(store.get(["a"], "k")).rejects.toMatchObject({ code: "damaged" });
      await expect(store.put(["a"], "k", {})).rejects.toMatchObject({ code: "damaged" });
      await expect(store.deleteNamespace(["a"])).rejects.toThrow("deleteNamespace([])");
      await store.deleteNamespace([]);
      expect(await store.get(["a"], "k")).toBeNull();
    }
    await own.client.set(keysOf(keyPrefix)[1], "text");
    await expect(store.get(["a"], "k")).rejects.toMatchObject({
      code: "wrong_type",
      message: expect.stringContaining("A key of the RedisStore"),
    });
  });

  it("names an item that cannot be read, and finds the others", async () => {
    const keyPrefix = uniquePrefix();
    const skipped: MemoryEvent[] = [];
    const onEvent = (event: MemoryEvent) => event.type === "record_skipped" && skipped.push(event);
    const store = open({ keyPrefix, onEvent });
    for (const key of ["a", "b", "c"]) {
      await store.put(["n"], key, { key });
    }
    const [values] = keysOf(keyPrefix);
    await own.client.hset(values, "n\0\0a", "nonsense", "n\0\0b", "1|1||[");
    await expect(store.get(["n"], "a")).rejects.toMatchObject({
      code: "corrupt",
      message: expect.stringContaining("n a"),
    });
    await expect(store.get(["n"], "b")).rejects.toMatchObject({ code: "corrupt" });
    expect((await store.search(["n"])).map(({ key }) => key)).toEqual(["c"]);
    expect(skipped).toHaveLength(2);
    await store.put(["n"], "a", { key: "again" });
    expect((await store.get(["n"], "a"))!.value).toEqual({ key: "again" });
  });

  it("does what is written about the connection: refuses two, and closes only its own", async () => {
    expect(
      () => new RedisStore({ memory: new RedisChatMemory({ client: own.client }), url: "redis://h" } as never),
    ).toThrow(/RedisStore: option "url" cannot be combined with "memory"/);
    expect(() => new RedisStore({} as never)).toThrow(/RedisStore/);
    const store = RedisStore.fromUrl(own.server.url, { keyPrefix: uniquePrefix() });
    await store.put(["a"], "k", {});
    await store.stop();
    await expect(store.get(["a"], "k")).rejects.toMatchObject({ code: "closed" });
  });

  it("needs of a Redis user the least commands and four more", async () => {
    const commands = [...allLeastCommands, ...partCommands.RedisStore].map((command) => `+${command}`);
    await own.client.call("ACL", "SETUSER", "items", "reset", "on", ">pw", "~*", ...commands);
    const client = closed(new Redis(own.server.url, { username: "items", password: "pw" }));
    const store = new RedisStore({ client, keyPrefix: uniquePrefix(), itemTTL: { seconds: 60, refreshOnRead: true } });
    await store.put(["a"], "k", { x: 1 });
    await store.put(["a"], "l", { x: 1 });
    await store.get(["a"], "k");
    await store.search(["a"], { filter: { x: 1 } });
    await store.listNamespaces();
    await store.put(["a"], "m", { x: 1 }, undefined, { itemTTL: 1 });
    await store.delete(["a"], "k");
    await store.deleteNamespace(["a"]);
    const lasting = new RedisStore({ client, keyPrefix: uniquePrefix() });
    await lasting.put(["a"], "k", { x: 1 });
    await lasting.deleteNamespace([]);
  });

  it("is the store of a graph, from any instance", async () => {
    const keyPrefix = uniquePrefix();
    const count = (store: RedisStore) =>
      new StateGraph(new StateSchema({ visits: z.number().default(0) }))
        .addNode("visit", async (_, config) => {
          const before = await config.store!.get(["users", "ann"], "visits");
          const visits = Number(before?.value["count"] ?? 0) + 1;
          await config.store!.put(["users", "ann"], "visits", { count: visits });
          return { visits };
        })
        .addEdge(START, "visit")
        .addEdge("visit", END)
        .compile({ store });
    expect(await count(open({ keyPrefix })).invoke({})).toEqual({ visits: 1 });
    expect(await count(open({ keyPrefix })).invoke({})).toEqual({ visits: 2 });
  });
});

/** How long keys live, in milliseconds, of one moment; for Redis 6.2 too, which has no PEXPIRETIME. */
async function ttlsOfOneMoment(client: Redis, keys: readonly string[]): Promise<number[]> {
  // Before 7.2 the clock goes on within a script: a look counts where the millisecond has not ended meanwhile.
  const look = `
    local function now() local t = redis.call('TIME') return t[1] .. string.sub(t[2] + 1000000, 2, 4) end
    local began, ttls = now(), {}
    for i, key in ipairs(KEYS) do ttls[i] = redis.call('PTTL', key) end
    return now() == began and ttls or {}`;
  for (;;) {
    const ttls = (await client.eval(look, keys.length, ...keys)) as number[];
    if (ttls.length > 0) {
      return ttls;
    }
  }
}
