import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";
import { startTcpProxy } from "../../testkit/proxies/tcp-proxy.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { all, chunksOf, first, spoken } from "./spoken-source.js";

afterEach(closeMemories);

describe("a run whose process is taken for dead", () => {
  const closed = closedAfterEach();

  /** A process that can be cut off from Redis, and another one. */
  async function cutOff() {
    let isOpen = true;
    const { hostname, port } = new URL(sharedRedisUrl());
    const proxy = closed(
      await startTcpProxy({ host: hostname, port: Number(port) }, (client, upstream) => {
        client.on("data", (data) => isOpen && upstream.write(data));
        upstream.on("data", (data) => isOpen && client.write(data));
      }),
    );
    const redis = { keyPrefix: uniquePrefix() };
    const url = `redis://127.0.0.1:${proxy.port}`;
    const far = closed(new RedisChatMemory({ url, redis }));
    const near = newMemory({ redis });
    const runs = [redisRuns(far, { lostAfterMs: 3_000 }), redisRuns(near, { lostAfterMs: 3_000 })] as const;
    const setOpen = (value: boolean) => {
      isOpen = value;
      if (value) {
        proxy.cut();
      }
    };
    return { far, near, runs, setOpen };
  }

  it("ends as lost for its readers, gives the session back, and cannot be written behind a newer run", async () => {
    const { far, near, runs, setOpen } = await cutOff();
    const { work, say } = spoken();
    async function* held(signal: AbortSignal) {
      const turn = { release: () => {} };
      const holding = far.withTurn("s", () => new Promise<void>((resolve) => (turn.release = resolve)), {
        holdMs: 600_000,
      });
      try {
        yield* work(signal);
      } finally {
        turn.release();
        await holding.catch(() => undefined);
      }
    }
    const run = await runs[0].start("s", { turnId: "t" }, held);
    const own = all(run);
    say("a");
    const reader = runs[1].join("s")[Symbol.asyncIterator]();
    expect((await reader.next()).value).toMatchObject({ chunk: "a" });
    setOpen(false);
    expect((await reader.next()).value).toEqual({ state: "lost" });
    // The hold would last for ten minutes.
    expect(await near.withTurn("s", () => "free", { waitMs: 200_000 })).toBe("free");
    const newer = spoken();
    const next = await runs[1].start("s", { turnId: "u" }, newer.work);
    newer.say("x");
    expect(chunksOf(await first(next, 1))).toEqual(["x"]);
    setOpen(true);
    say("zombie");
    expect((await own).at(-1)).toEqual({ state: "lost" });
    newer.end();
    expect(chunksOf(await all(runs[1].join("s")))).toEqual(["x"]);
    expect(chunksOf(await all(runs[0].join("s")))).toEqual(["x"]);
  });

  it("is ended by a stop, and by a start of the next turn", async () => {
    const { runs, setOpen } = await cutOff();
    await runs[0].start("s", { turnId: "t" }, spoken().work);
    await runs[0].start("r", { turnId: "t" }, spoken().work);
    setOpen(false);
    const { work, end } = spoken();
    const isStarted = async () => {
      for (;;) {
        try {
          return await runs[1].start("r", { turnId: "u" }, work);
        } catch (error) {
          // Busy, for as long as its process may live.
          expect(error).toMatchObject({ code: "busy", retryable: true });
        }
      }
    };
    const next = await isStarted();
    end();
    expect(await all(next)).toEqual([{ state: "done" }]);
    expect(await runs[1].stop("s")).toBe(true);
    expect(await all(runs[1].join("s"))).toEqual([{ state: "lost" }]);
    setOpen(true);
  });
});
