import { HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { Cluster } from "ioredis";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { identifyRecord } from "../../src/store/codec/stored-record.js";
import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import { countOthers } from "../../src/store/redis-lists/kinds.js";
import { sessionKeys, threadKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore, wireOf } from "../../src/store/redis-store/redis-session-store.js";
import { asRead, human, record, records, texts } from "../../testing/session-store/store-case.js";
import { leastUser, refusalsAndUse } from "../../tools/testkit/servers/least-user.js";
import { beginMove, startCluster, type PrivateCluster } from "../../tools/testkit/servers/redis-cluster.js";
import { until } from "../../tools/testkit/servers/until.js";
import { uniquePrefix } from "../support/shared-redis.js";

describe("A session whose slot is being moved", () => {
  let cluster: PrivateCluster;
  let client: Cluster;
  /** Of a user with all commands. */
  let other: Cluster;
  let written: RedisSessionStore;
  beforeAll(async () => {
    cluster = await startCluster(2);
    client = new Cluster([...cluster.nodes], { redisOptions: leastUser });
    other = new Cluster([...cluster.nodes]);
  });
  // All tests use one slot, and a node gives none away while it holds keys of it.
  afterEach(() => written.clear({ id: "s" }));
  afterAll(async () => {
    client.disconnect();
    other.disconnect();
    await cluster.stop();
  });

  const prepared = async () => {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({ client, keyPrefix, commandTimeout: 40_000 });
    written = store;
    await store.append(
      { id: "s" },
      {
        records: [human("q1"), ...records("a", 4)],
        ttlMs: 60_000,
        side: { set: { field: "x" } },
      },
    );
    // From here on the start is known, and views are read in a MULTI.
    await store.readView({ id: "s" });
    return { store, keys: sessionKeys(keyPrefix, "s") };
  };

  it("is read and written as usual while the slot is MIGRATING", async () => {
    const { store, keys } = await prepared();
    const { finish } = await beginMove(cluster, keys.state);
    expect(await store.append({ id: "s" }, { records: records("b", 2), ttlMs: 60_000 })).toMatchObject({
      appended: 2,
      next: 7,
    });
    const view = await store.readView({ id: "s" });
    expect(view.records).toHaveLength(7);
    expect((await readLog(store, { id: "s" }, { from: 5 })).records).toEqual(texts(records("b", 2)));
    expect((await readLastRounds(store, { id: "s" }, 1)).records).toHaveLength(7);
    expect(await store.commitReduction({ id: "s" }, { ...asRead(view), start: 5, head: "h", headCount: 1 })).toBe(
      "committed",
    );
    const reduced = await store.readView({ id: "s" });
    expect(await store.edits.rewind({ id: "s" }, { ...asRead(reduced), to: 6, forget: ["b2"] })).toBe("rewound");
    expect(await store.data.writeSide({ id: "s" }, { set: { field: "y" } })).toBe(true);
    expect(await store.data.writeSide({ id: "s" }, { set: { field: "z" }, ttlMs: 60_000 })).toBe(true);
    expect(await store.data.readSide({ id: "s" }, "")).toEqual({ field: "z" });
    await store.clear({ id: "s" });
    await finish();
    expect((await store.readView({ id: "s" })).epoch).toBe("");
  });

  it("is written as soon as its keys are on one node again, within the command timeout", async () => {
    const { store, keys } = await prepared();
    const { moveKey, finish } = await beginMove(cluster, keys.state);
    await moveKey(keys.log);
    const pending = [store.append({ id: "s" }, { records: records("b", 2) }), store.readView({ id: "s" })] as const;
    await new Promise((resolve) => setTimeout(resolve, 150));
    await moveKey(keys.ids);
    await moveKey(keys.state);
    await finish();
    const [result, view] = await Promise.all(pending);
    expect(result).toMatchObject({ appended: 2, next: 7 });
    expect([5, 7]).toContain(view.records.length);
    expect((await store.append({ id: "s" }, { records: records("b", 3) })).duplicates).toBe(2);
  });

  it("is rebuilt as usual", async () => {
    const { store, keys } = await prepared();
    const { finish } = await beginMove(cluster, keys.state);
    await store.edits.rebuild({ id: "s" }, (text) => identifyRecord(text));
    expect((await store.readView({ id: "s" })).records).toHaveLength(5);
    expect((await store.append({ id: "s" }, { records: [record("n")] })).next).toBe(6);
    await finish();
  });

  it("has a thread that is counted and removed, also one that is not there", async () => {
    const { store, keys } = await prepared();
    const keyPrefix = keys.log.split(":{")[0]!;
    const saver = new RedisSaver({ client: other, keyPrefix, commandTimeout: 40_000 });
    const config = { configurable: { thread_id: "s", checkpoint_ns: "" } };
    await saver.put(config, { ...emptyCheckpoint(), id: uuid6(1) }, { source: "loop", step: 1, parents: {} }, {});
    const { finish } = await beginMove(cluster, keys.state);
    const threads = async () => {
      let counts: { readonly thread?: number } = {};
      for await (counts of countOthers(wireOf(new RedisSessionStore({ client: other, keyPrefix }))!));
      return counts.thread ?? 0;
    };
    expect(await threads()).toBe(1);
    await saver.deleteThread("s");
    await saver.deleteThread("s");
    expect(await threads()).toBe(0);
    await store.lists.erase({ id: "s" }, { guardMs: 500 });
    await saver.deleteThread("s");
    expect(await threads()).toBe(0);
    await finish();
    await until("the tombstones have expired", async () => {
      const left = Object.values({ ...keys, ...threadKeys(keyPrefix, "s") }).map((key) => other.exists(key));
      return !(await Promise.all(left)).includes(1);
    });
  });

  it.each(["log", "state", "ids", "tombstone"] as const)("is listed and named where its %s moved", async (part) => {
    const keyPrefix = uniquePrefix();
    const memory = new RedisChatMemory({ client: other, redis: { keyPrefix, commandTimeout: 2_000 } });
    written = new RedisSessionStore({ client: other, keyPrefix, commandTimeout: 40_000 });
    const keys = sessionKeys(keyPrefix, "s");
    await memory.history("t", { owner: "ann" }).addMessages([new HumanMessage("hi")]);
    await memory.history("s", { owner: "ann" }).addMessages([new HumanMessage("hi")]);
    const isErased = part === "tombstone";
    await (isErased && memory.sessions.delete("s", { owner: "ann", guardMs: 1_000 }));
    await memory.drain();
    const { moveKey, finish } = await beginMove(cluster, keys.state);
    await moveKey(isErased ? keys.state : keys[part]);
    const { sessions } = await memory.sessions.list({ owner: "ann" });
    expect(sessions.map(({ sessionId }) => sessionId).sort()).toEqual(isErased ? ["t"] : ["s", "t"]);
    await (isErased && expect(memory.sessions.get("s", { owner: "ann" })).resolves.toBeUndefined());
    await finish();
    await until("the tombstones have expired", async () => !isErased || (await other.exists(keys.state)) === 0);
    await memory.close();
  });

  it("is that of items, the last of which is removed", async () => {
    const { keys } = await prepared();
    const keyPrefix = keys.log.split(":{")[0]!;
    const items = new RedisStore({ client: other, keyPrefix, commandTimeout: 40_000 });
    await items.put(["a"], "k", { a: 1 });
    await items.put(["b"], "k", { a: 1 });
    const { finish } = await beginMove(cluster, `${keyPrefix}:{store:items}:values`);
    await items.put(["a"], "k", { a: 2 });
    await items.delete(["a"], "k");
    expect(await items.search([])).toHaveLength(1);
    expect(await items.deleteNamespace(["b"])).toBe(1);
    await finish();
    expect(await items.search([])).toEqual([]);
    await items.put(["a"], "k", { a: 3 });
    expect(await items.deleteNamespace([])).toBe(1);
  });

  it("fails with unavailable, without hanging, if its keys stay on two nodes", async () => {
    const { store, keys } = await prepared();
    const hasty = new RedisSessionStore({ client, keyPrefix: keys.log.split(":{")[0]!, commandTimeout: 300 });
    const { moveKey, finish } = await beginMove(cluster, keys.state);
    await moveKey(keys.log);
    const refused = { name: "StoreError", code: expect.stringMatching(/^(unavailable|timeout)$/), retryable: true };
    await expect(hasty.append({ id: "s" }, { records: [record("n")] })).rejects.toMatchObject(refused);
    await expect(hasty.readView({ id: "s" })).rejects.toMatchObject(refused);
    await moveKey(keys.ids);
    await moveKey(keys.state);
    await finish();
    // What was given up may still be sent by the client; either way the message is there once.
    await store.append({ id: "s" }, { records: [record("n")] });
    expect((await store.readView({ id: "s" })).records.filter((text) => text === record("n").record)).toHaveLength(1);
  });

  it("keeps waiting for replicas after a move", async () => {
    const { keys } = await prepared();
    const waiting = new RedisSessionStore({
      client,
      keyPrefix: keys.log.split(":{")[0]!,
      waitReplicas: 1,
      commandTimeout: 4_000,
    });
    const { moveKey, finish } = await beginMove(cluster, keys.state);
    for (const key of [keys.log, keys.ids, keys.state]) {
      await moveKey(key);
    }
    await finish();
    // No node has a replica here: the write is redirected and applied, and the missing acknowledgement is told.
    await expect(waiting.append({ id: "s" }, { records: [record("n")] })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/0 of the 1/),
    });
    expect(
      (await new RedisSessionStore({ client, keyPrefix: keys.log.split(":{")[0]! }).readView({ id: "s" })).next,
    ).toBe(6);
  });

  it("needs ASKING, and no command that the user with the least commands lacks", async () => {
    const found = await refusalsAndUse(cluster.servers, ["asking"]);
    expect(found).toEqual({ refused: [], used: ["asking"] });
  });
});
