import { Cluster } from "ioredis";
import { Cluster as Cluster5 } from "ioredis5";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { leastUser, refusalsAndUse } from "../../tools/testkit/servers/least-user.js";
import { type ReplicatedCluster, startReplicatedCluster } from "../../tools/testkit/servers/replicated-cluster.js";
import { all, chunksOf, readAll, spoken } from "../runs/spoken-source.js";
import { type Journal, writeWhile } from "../support/busy-writers.js";
import { compare, nothingBroken, nothingElseBroken } from "../support/journal-check.js";

/** The slot of a session follows from its id alone; faults hit the master of the first one. */
const [key, another] = ["s0", "s1"].map((session) => sessionKeys("any", session).state) as [string, string];

describe("Writers on a cluster of three masters and three replicas", () => {
  let cluster: ReplicatedCluster;
  let clients: (Cluster | Cluster5)[] = [];
  beforeAll(async () => {
    cluster = await startReplicatedCluster(3, 2_500);
    const options = { retryDelayOnClusterDown: 50, retryDelayOnFailover: 50, slotsRefreshInterval: 500 };
    clients = [
      new Cluster([...cluster.seeds], options),
      new Cluster([...cluster.seeds], { ...options, scaleReads: "slave", redisOptions: leastUser }),
      new Cluster([...cluster.seeds], { ...options, redisOptions: { protocol: 2 } }),
      new Cluster5([...cluster.seeds], options),
    ];
    clients.forEach((client) => client.on("error", () => undefined));
  });
  afterAll(async () => {
    clients.forEach((client) => client.disconnect());
    await cluster?.stop();
  });

  const write = (work: () => Promise<unknown>, options: { waitReplicas?: number } = {}) =>
    writeWhile({ clients: clients as RedisClient[], sessionCount: 12, rest: 8, ...options }, work);
  const found = (journal: Journal) => compare(journal, clients[0] as RedisClient);
  /** One group of writers that waits for a replica, and one that does not. */
  const writeInTwoGroups = async (work: () => Promise<unknown>): Promise<{ waiting: Journal; hasty: Journal }> => {
    const end = work();
    const [waiting, hasty] = await Promise.all([write(() => end, { waitReplicas: 1 }), write(() => end)]);
    return { waiting, hasty };
  };

  it("lose, double, tear and reorder nothing while slots move", async () => {
    const journal = await write(async () => {
      const { master, slot } = await cluster.holdersOf(key);
      const others = cluster.nodes.slice(0, 3).filter((node) => node !== master);
      for (const [from, to] of [
        [master, others[0]!],
        [others[0]!, others[1]!],
        [others[1]!, master],
      ] as const) {
        await cluster.moveSlot(slot, from, to);
      }
    });
    expect(await found(journal)).toMatchObject(nothingBroken);
  });

  it("lose nothing when a replica takes over by command", async () => {
    const { replica, master } = await cluster.holdersOf(key);
    const journal = await write(() => cluster.failover(replica));
    expect(await found(journal)).toMatchObject(nothingBroken);
    await cluster.untilRole(master, "slave");
    await cluster.untilWhole();
  });

  it("play runs that other instances read whole, while slots move and a replica takes over", async () => {
    const memories = [clients[0]!, clients[3]!].map(
      (client) => new RedisChatMemory({ client: client as RedisClient, redis: { keyPrefix: "runs" } }),
    );
    try {
      const runs = memories.map((memory) => redisRuns(memory, { lostAfterMs: 20_000, batchMs: 1 }));
      const { work, say, end } = spoken();
      await runs[0]!.start("s0", { turnId: "t" }, work);
      // A reader in each process that stays, and some that leave and come back, on the other instance.
      const visits = (items: number) =>
        Array.from({ length: 40 }, (_, each) => ({ instance: each % 2, items, pauseMs: 0 }));
      const plans = [...[1, 7, 20, 50].map(visits), []];
      const reading = Promise.all([all(runs[1]!.join("s0")), ...plans.map((plan) => readAll(runs, "s0", plan))]);
      let words = 0;
      const told = setInterval(() => say((words += 1)), 5);
      const { master, replica, slot } = await cluster.holdersOf(key);
      const other = cluster.nodes.slice(0, 3).find((node) => node !== master)!;
      await cluster.moveSlot(slot, master, other);
      await cluster.moveSlot(slot, other, master);
      await cluster.failover(replica);
      clearInterval(told);
      end();
      for (const items of [...(await reading), await all(runs[1]!.join("s0"))]) {
        expect(chunksOf(items)).toEqual(Array.from({ length: words }, (_, index) => index + 1));
        expect(items.at(-1)).toEqual({ state: "done" });
      }
      await cluster.untilRole(master, "slave");
      await cluster.untilWhole();
    } finally {
      await Promise.all(memories.map((memory) => memory.close()));
    }
  });

  it("lose nothing they waited for when a master is killed, and else only what had no copy", async () => {
    const { master, replica } = await cluster.holdersOf(key);
    const { waiting, hasty } = await writeInTwoGroups(async () => {
      await cluster.kill(master);
      await cluster.untilRole(replica, "master");
      await cluster.restart(master);
    });
    await cluster.untilWhole();
    expect(await found(waiting)).toMatchObject(nothingBroken);
    expect(await found(hasty)).toMatchObject(nothingElseBroken);
    expect(waiting.failures).not.toEqual({});
  });

  it("lose nothing they waited for when the network splits, and else only what the cut-off master took", async () => {
    const { master, replica } = await cluster.holdersOf(another);
    const { waiting, hasty } = await writeInTwoGroups(async () => {
      cluster.isolate(master);
      await cluster.untilRole(replica, "master");
      cluster.heal();
      await cluster.untilRole(master, "slave");
    });
    await cluster.untilWhole();
    expect(await found(waiting)).toMatchObject(nothingBroken);
    expect(await found(hasty)).toMatchObject(nothingElseBroken);
    expect(waiting.failures).not.toEqual({});
  });

  it("need READONLY for reads from replicas, and no command that the user with the least commands lacks", async () => {
    const servers = cluster.nodes.map(({ server }) => server);
    expect(await refusalsAndUse(servers, ["readonly"])).toEqual({ refused: [], used: ["readonly"] });
  });
});
