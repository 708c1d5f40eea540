import { Redis } from "ioredis";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns, type RunItem } from "langchain-redis-memory/runs";
import { startGate } from "../../tools/testkit/proxies/gate.js";
import { startRestartableRedis } from "../../tools/testkit/servers/restartable-redis.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { newMemory } from "../support/memories.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { all, chunksOf, first, spoken } from "./spoken-source.js";

const words = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `w${from + index}`);

describe("a run whose Redis", () => {
  const closed = closedAfterEach();

  const twoInstances = (url: string) =>
    [0, 1].map(() => redisRuns(closed(new RedisChatMemory({ url, redis: { keyPrefix: "runs" } })), { batchMs: 1 }));

  /** All chunks, or those before a reset. */
  function expectNoGap(items: readonly RunItem[]): void {
    const reset = items.findIndex((item) => "reset" in item);
    const seen = chunksOf(items.slice(0, reset < 0 ? items.length : reset));
    expect(seen).toEqual(words(0, reset < 0 ? 100 : seen.length));
    expect(items.at(-1)).toEqual({ state: "done" });
  }

  it("is started again without its data has no gap that is not told, and who joins then gets all of it", async () => {
    const server = await startRestartableRedis(["--appendonly", "no", "--save", ""]);
    try {
      const runs = twoInstances(server.url);
      const { work, say, end } = spoken();
      const run = await runs[0]!.start("s", { turnId: "t" }, work);
      const own = all(run);
      const remote = runs[1]!.join("s")[Symbol.asyncIterator]();
      say(...words(0, 50));
      const items: RunItem[] = [(await remote.next()).value as RunItem];
      await server.restart("SIGKILL");
      say(...words(50, 100));
      end();
      expect(chunksOf(await own)).toEqual(words(0, 100));
      for (let next = await remote.next(); !next.done; next = await remote.next()) {
        items.push(next.value);
      }
      expectNoGap(items);
      expectNoGap(await all(runs[1]!.join("s")));
    } finally {
      await server.stop();
    }
  });

  it("is away for longer than signs of life may be is not lost, also where its process comes back last", async () => {
    const redis = { keyPrefix: uniquePrefix(), commandTimeout: 60_000 };
    const startInstance = async () => {
      const gate = closed(await startGate(sharedRedisUrl()));
      const memory = closed(new RedisChatMemory({ url: `redis://127.0.0.1:${gate.port}`, redis }));
      return { gate, runs: redisRuns(memory, { lostAfterMs: 2_000, batchMs: 1 }) };
    };
    const [playing, reading] = [await startInstance(), await startInstance()];
    const { work, say, end } = spoken();
    const run = await playing.runs.start("s", { turnId: "t" }, work);
    const readers = [all(run), all(reading.runs.join("s"))];
    say(...words(0, 50));
    // Longer than between two signs of life, so that the reader looks after a run of which it hears nothing.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    playing.gate.block();
    reading.gate.block();
    say(...words(50, 100));
    await new Promise((resolve) => setTimeout(resolve, 3_700));
    reading.gate.heal();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    playing.gate.heal();
    end();
    for (const items of await Promise.all(readers)) {
      expectNoGap(items);
    }
  });
});

const states = ["nothing", "an earlier run", "an earlier run without its end", "its begin", "some of it"] as const;

type State = (typeof states)[number];

describe("a run on a server that takes over with", () => {
  const closed = closedAfterEach();

  const cells = states.flatMap((state) =>
    (["plain", "sealed"] as const).flatMap((form) =>
      (["goes on", "ends", "has met its limit"] as const).map((then) => [state, then, form] as const),
    ),
  );

  it.each(cells)("%s is whole for every reader, where it %s (%s)", async (state, then, form) => {
    const redis = { keyPrefix: uniquePrefix() };
    const options = { redis, ...(form === "sealed" && { encryption: testKeys("k1") }) };
    const settings = { lostAfterMs: 600_000, batchMs: 1, maxRunBytes: 2_000 };
    const runs = [0, 1].map(() => redisRuns(newMemory(options), settings));
    const client = closed(new Redis(sharedRedisUrl()));
    const key = `${redis.keyPrefix}:{s}:run`;
    const kept = new Map<State, Buffer | null>([["nothing", null]]);
    const keep = async (name: State) => void kept.set(name, await client.dumpBuffer(key));

    const earlier = spoken();
    const before = all(await runs[0]!.start("s", { turnId: "t" }, earlier.work));
    earlier.say("x");
    await first(runs[1]!.join("s"), 1);
    await keep("an earlier run without its end");
    earlier.end();
    await before;
    await keep("an earlier run");

    const { work, say, end } = spoken();
    const run = await runs[0]!.start("s", { turnId: "u" }, work);
    await keep("its begin");
    const own = all(run);
    say("a");
    await first(runs[1]!.join("s"), 1);
    await keep("some of it");
    const remote = all(runs[1]!.join("s"));
    say("b");
    await first(runs[1]!.join("s"), 2);
    const isCut = then === "has met its limit";
    if (isCut) {
      say("c".repeat(3_000));
      // The reset comes behind what is stored.
      await first(runs[1]!.join("s"), 3);
    }
    const old = kept.get(state);
    await (old ? client.restore(key, 0, old, "REPLACE") : client.unlink(key));
    say(...(then === "goes on" ? ["c", "d"] : []));
    end();

    const words = then === "goes on" ? ["a", "b", "c", "d"] : ["a", "b"];
    for (const items of [await own, await remote, await all(runs[1]!.join("s", { turnId: "u" }))]) {
      expect(chunksOf(items)).toEqual(words);
      expect(items.slice(words.length)).toEqual([...(isCut ? [{ reset: true }] : []), { state: "done" }]);
    }
    expect(await client.pttl(key)).toBeGreaterThan(0);
    const next = await runs[1]!.start("s", { turnId: "v" }, async function* () {});
    expect(await all(next)).toEqual([{ state: "done" }]);
  });
});
