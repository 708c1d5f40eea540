import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns, type RunItem } from "langchain-redis-memory/runs";
import { startGate } from "../../tools/testkit/proxies/gate.js";
import { startRestartableRedis } from "../../tools/testkit/servers/restartable-redis.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { all, chunksOf, spoken } from "./spoken-source.js";

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
