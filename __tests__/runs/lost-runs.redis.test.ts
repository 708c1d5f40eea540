import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";
import { contextOf } from "../../src/memory/histories/redis-chat-memory.js";
import { wireOf } from "../../src/store/redis-store/redis-session-store.js";
import { RunStore } from "../../src/runs/run-store.js";
import { startGate } from "../../tools/testkit/proxies/gate.js";
import { buildPrograms, type BuiltPrograms } from "../support/built-programs.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { until } from "../../tools/testkit/servers/until.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { newMemory } from "../support/memories.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { all, chunksOf, first, spoken } from "./spoken-source.js";

describe("a run whose process is taken for dead", () => {
  const closed = closedAfterEach();

  /** A process that can be cut off from Redis, and another one. */
  async function cutOff() {
    const gate = closed(await startGate(sharedRedisUrl()));
    const redis = { keyPrefix: uniquePrefix() };
    const url = `redis://127.0.0.1:${gate.port}`;
    const far = closed(new RedisChatMemory({ url, redis }));
    const near = newMemory({ redis });
    const runs = [redisRuns(far, { lostAfterMs: 3_000 }), redisRuns(near, { lostAfterMs: 3_000 })] as const;
    return { far, near, runs, gate, keyPrefix: redis.keyPrefix };
  }

  it("ends as lost for its readers, gives the session back, and cannot be written behind a newer run", async () => {
    const { far, near, runs, gate } = await cutOff();
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
    gate.block();
    expect((await reader.next()).value).toEqual({ state: "lost" });
    // The hold would last for ten minutes.
    expect(await near.withTurn("s", () => "free", { waitMs: 200_000 })).toBe("free");
    const newer = spoken();
    const next = await runs[1].start("s", { turnId: "u" }, newer.work);
    newer.say("x");
    expect(chunksOf(await first(next, 1))).toEqual(["x"]);
    gate.heal();
    say("zombie");
    expect((await own).at(-1)).toEqual({ state: "lost" });
    newer.end();
    expect(chunksOf(await all(runs[1].join("s")))).toEqual(["x"]);
    expect(chunksOf(await all(runs[0].join("s")))).toEqual(["x"]);
  });

  it("is not lost for a reader elsewhere who hears of it before the process that began it", async () => {
    const keyPrefix = uniquePrefix();
    const client = closed(new Redis(sharedRedisUrl()));
    const near = redisRuns(newMemory({ redis: { keyPrefix } }), { lostAfterMs: 400 });
    /** How often the reader has asked the process for news. */
    const asked = async () => {
      const [, mails] = await client.scan("0", "MATCH", `${keyPrefix}*mail*`, "COUNT", 100_000);
      const notices = await Promise.all(mails.map((key) => client.xrange(key, "-", "+")));
      return notices.flat().filter(([, [, text]]) => text!.includes('"follow"')).length;
    };
    const items: unknown[] = [];
    let reading: Promise<unknown> | undefined;
    const slow = interceptedClient(client, async (send, args) => {
      const reply = await send();
      if (reading === undefined && args.some((arg) => String(arg).includes('"turnId":"t"'))) {
        reading = (async () => {
          for await (const item of near.join("s")) {
            items.push(item);
          }
        })();
        // The notice of the first beat has been answered when that of the third one is there.
        await until("the reader has asked again", async () => (await asked()) >= 3);
      }
      return reply;
    });
    const redis = { keyPrefix, commandTimeout: 120_000 };
    const far = redisRuns(closed(new RedisChatMemory({ client: slow, redis })), { lostAfterMs: 400 });
    const { work, say, end } = spoken();
    await far.start("s", { turnId: "t" }, work);
    say("a");
    end();
    await reading;
    expect(items).toMatchObject([{ chunk: "a" }, { state: "done" }]);
  });

  it("is ended by a stop, and by a start of the next turn; what Redis lost of it is told as missing", async () => {
    const { runs, gate, keyPrefix } = await cutOff();
    const client = closed(new Redis(sharedRedisUrl()));
    const { work: words, say } = spoken();
    await runs[0].start("s", { turnId: "t" }, spoken().work);
    await runs[0].start("r", { turnId: "t" }, spoken().work);
    await runs[0].start("q", { turnId: "t" }, words);
    say("a");
    const reader = runs[1].join("q")[Symbol.asyncIterator]();
    const { id: after } = (await reader.next()).value as { id: string };
    gate.block();
    await client.unlink(`${keyPrefix}:{q}:run`);
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
    expect((await reader.next()).value).toEqual({ reset: true });
    expect((await reader.next()).value).toEqual({ state: "lost" });
    expect(await all(runs[1].join("q", { turnId: "t", after }))).toEqual([{ reset: true }]);
    gate.heal();
  });
});

describe("of several ends of a run", () => {
  it("one counts, whoever writes it first", async () => {
    const redis = { keyPrefix: uniquePrefix() };
    const stores = [newMemory({ redis }), newMemory({ redis })].map((memory) => {
      return new RunStore(wireOf(contextOf(memory)!.source)!, undefined);
    });
    for (const id of ["1", "2", "3", "4", "5", "6", "7", "8"]) {
      const { at } = await stores[0]!.begin({ id }, { turnId: "t", instance: "i", call: id });
      const given = ["done", "lost", "stopped"] as const;
      const ends = given.map((state, index) => stores[(Number(id) + index) % 2]!.end({ id }, at, { state }));
      const counts = await Promise.all(ends);
      expect(new Set(counts.map((end) => end?.state)).size).toBe(1);
      expect(await stores[1]!.look("joinRun", { id })).toMatchObject({ end: counts[0] });
    }
  });
});

describe("a run whose process is frozen or killed", () => {
  const source = "__tests__/support/run-worker.ts";
  let programs: BuiltPrograms;
  beforeAll(async () => {
    programs = await buildPrograms([source], { withPackages: true });
  });
  afterAll(() => programs.remove());

  it.each(["SIGSTOP", "SIGKILL"] as const)("(%s) ends as lost, and the next one starts at once", async (signal) => {
    const keyPrefix = uniquePrefix();
    const worker = spawn(process.execPath, [programs.pathOf(source), sharedRedisUrl(), keyPrefix], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const lines = createInterface({ input: worker.stdout });
      const memory = newMemory({ redis: { keyPrefix } });
      const runs = redisRuns(memory, { lostAfterMs: 3_000 });
      while ((await runs.active("s")) === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const readers = [runs.join("s"), runs.join("s")].map((run) => run[Symbol.asyncIterator]());
      await Promise.all(readers.map((reader) => reader.next()));
      worker.kill(signal);
      const ends = await Promise.all(
        readers.map(async (reader) => {
          let last: unknown;
          for (let next = await reader.next(); !next.done; next = await reader.next()) {
            last = next.value;
          }
          return last;
        }),
      );
      expect(ends).toEqual([{ state: "lost" }, { state: "lost" }]);
      // The hold of the dead process would last for ten minutes.
      expect(await memory.withTurn("s", () => "free", { waitMs: 200_000 })).toBe("free");
      const newer = spoken();
      const next = await runs.start("s", { turnId: "t" }, newer.work);
      newer.say("x");
      if (signal === "SIGSTOP") {
        const [said] = [once(lines, "line"), worker.kill("SIGCONT")];
        expect(await said).toEqual(["lost"]);
      }
      newer.end();
      expect(chunksOf(await all(next))).toEqual(["x"]);
      expect(chunksOf(await all(runs.join("s")))).toEqual(["x"]);
    } finally {
      const isGone = worker.exitCode !== null || worker.signalCode !== null;
      const gone = isGone ? undefined : once(worker, "exit");
      worker.kill("SIGKILL");
      await gone;
    }
  });
});
