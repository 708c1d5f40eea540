import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { createAgent } from "langchain";
import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware, steeringMiddleware } from "langchain-redis-memory/agent";
import { redisRuns } from "langchain-redis-memory/runs";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";
import { until } from "../../tools/testkit/servers/until.js";
import { ToolModel } from "../support/agents.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { commandCalls } from "../support/command-calls.js";

import { ownServer } from "../support/own-server.js";
import { echoModel } from "../support/scripted-model.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { calm, all, chunksOf, first, spoken, twoInstances } from "./spoken-source.js";

describe("a run", () => {
  const closed = closedAfterEach();

  // With 0, a write is under way when the limit is reached; where it seals its batch, chunks come meanwhile.
  it.each([
    [0, "plain", {}],
    [1, "plain", {}],
    [0, "sealed", { encryption: testKeys("k1") }],
  ])(
    "is left out from its limit on, with a reset and the stored answer (batchMs: %i, %s)",
    async (batchMs, _, options) => {
      const { runs, memories } = twoInstances(options, { ...calm, batchMs, maxRunBytes: 1_000 });
      for (const chunks of [["a"], ["a", "b"]]) {
        const { work, say, end } = spoken();
        const run = await runs[0].start("s", { turnId: `t${chunks.length}` }, work);
        const remote = all(runs[1].join("s"));
        say(...chunks, "c".repeat(2_000), "d");
        end();
        for (const items of [await all(run), await remote, await all(runs[1].join("s"))]) {
          expect(chunksOf(items)).toEqual(chunks);
          expect(items.slice(chunks.length)).toEqual([{ reset: true }, { state: "done" }]);
        }
      }
      const chat = withRedisMemory(echoModel(), { memory: memories[0] });
      const session = sessionConfig({ sessionId: "r", turnId: "t" });
      const long = "x".repeat(2_000);
      const stored = await runs[0].start("r", { turnId: "t" }, (signal) => chat.stream(long, { ...session, signal }));
      for (const items of [await all(stored), await all(runs[1].join("r"))]) {
        expect(items.slice(-3)).toMatchObject([{ reset: true }, { stored: true }, { state: "done" }]);
        expect(chunksOf(items).at(-1)).toMatchObject({ content: `reply to ${long}` });
      }
    },
  );

  it("takes no more of Redis than its limit", async () => {
    const maxRunBytes = 50_000;
    const { runs, keyPrefix } = twoInstances({}, { ...calm, batchMs: 0, maxRunBytes });
    const client = closed(new Redis(sharedRedisUrl()));
    await all(
      await runs[0].start("s", { turnId: "t" }, async function* () {
        for (let index = 0; index < 1_000; index += 1) {
          yield "x".repeat(100);
          await new Promise(setImmediate);
        }
      }),
    );
    // An answer that is not cut takes twice as much. How full the stream's nodes are depends on the pace.
    expect(await client.memory("USAGE", `${keyPrefix}:{s}:run`, "SAMPLES", 0)).toBeLessThan(1.4 * maxRunBytes);
    expect((await all(runs[1].join("s"))).slice(-2)).toEqual([{ reset: true }, { state: "done" }]);
  });

  it("keeps every key with an expiry, at any moment", async () => {
    const { memories, runs, keyPrefix } = twoInstances();
    const client = closed(new Redis(sharedRedisUrl()));
    const seen = new Set<string>();
    const ttls = async () => {
      const keys = (await client.keys(`${keyPrefix}:*`)).filter((key) => /:(run|mail)\b/.test(key));
      for (const key of keys) {
        seen.add(key.replace(/\{process.*\}/, "{process}"));
        expect([key, await client.pttl(key)]).not.toEqual([key, -1]);
      }
    };
    const model = new ToolModel(async () => {
      await ttls();
      await runs[1].steer("s", { role: "user", content: "more", id: "m" });
      await ttls();
      return "ok";
    });
    const middleware = [redisMemoryMiddleware({ memory: memories[0] }), steeringMiddleware({ runs: runs[0] })];
    const agent = createAgent({ model, tools: [], middleware });
    const input = { messages: [{ role: "user" as const, content: "hi" }] };
    const session = sessionConfig({ sessionId: "s", turnId: "t" });
    const run = await runs[0].start("s", { turnId: "t" }, (signal) => agent.stream(input, { ...session, signal }));
    await all(run);
    await ttls();
    const { work, say, end } = spoken();
    const next = await runs[0].start("s", { turnId: "u" }, work);
    const waiting = runs[1].start("s", { turnId: "v", whileRunning: "queue" }, async function* () {});
    say("a");
    await first(runs[1].join("s"), 1);
    while ((await client.exists(`${keyPrefix}:{s}:run:queue`)) === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await ttls();
    end();
    await all(next);
    await all(await waiting);
    await ttls();
    const own = ["run", "run:steers", "run:queue"].map((name) => `${keyPrefix}:{s}:${name}`);
    expect([...seen].sort()).toEqual([...own, `${keyPrefix}:{process}:mail`].sort());
  });

  it("lives on while its work is silent, for longer than a run is kept", async () => {
    const { runs, keyPrefix } = twoInstances({}, { lostAfterMs: 400 });
    const client = closed(new Redis(sharedRedisUrl()));
    const key = `${keyPrefix}:{s}:run`;
    await runs[0].start("s", { turnId: "t" }, spoken().work);
    await client.pexpire(key, 60_000);
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, "now").mockImplementation(() => now() + 1_800_000);
    try {
      await until("the run's key lives for longer", async () => (await client.pttl(key)) > 3_000_000);
    } finally {
      clock.mockRestore();
    }
    expect(await runs[1].active("s")).toMatchObject({ turnId: "t", state: "running" });
  });

  it("takes one more connection of its process, whatever is started and joined", async () => {
    const { hostname: host, port } = new URL(sharedRedisUrl());
    const name = uniquePrefix();
    const config = { host, port: Number(port), connectionName: name };
    const memory = closed(new RedisChatMemory({ config, redis: { keyPrefix: name } }));
    const client = closed(new Redis(sharedRedisUrl()));
    const connections = async () => String(await client.client("LIST")).split(` name=${name} `).length - 1;
    const runs = redisRuns(memory, calm);
    await memory.history("s").addUserMessage("hi");
    expect(await connections()).toBe(1);
    await runs.active("s");
    expect(await connections()).toBe(1);
    const sessions = ["s", "r", "q"];
    for (const session of sessions) {
      const { work, say } = spoken();
      say("a");
      const run = await runs.start(session, { turnId: "t" }, work);
      expect(chunksOf(await first(run, 1))).toEqual(["a"]);
      await first(runs.join(session), 1);
      expect(await connections()).toBe(2);
    }
  });

  it("ends as failed where a chunk cannot be written, and its work is told", async () => {
    const { runs } = twoInstances();
    const { work, say } = spoken();
    let isTold = false;
    const run = await runs[0].start("s", { turnId: "t" }, (signal) => {
      signal.addEventListener("abort", () => (isTold = true));
      return work(signal);
    });
    const readers = [all(run), all(runs[1].join("s"))];
    say("a", { call: () => "a function" }, "b");
    for (const items of await Promise.all(readers)) {
      expect(chunksOf(items)).toEqual(["a"]);
      expect(items.at(-1)).toEqual({ state: "failed", error: "unsupported_message" });
    }
    expect(isTold).toBe(true);
  });
});

describe("a run and its reader in another process", () => {
  const own = ownServer(startRedis);

  // 1,000 words of a model that says 235 a second, in 85 batches: 910.
  it("cost at most 60 commands and 10 for each batch of 50 ms, however many words, also those in scripts", async () => {
    const words = 500;
    const memories = [
      new RedisChatMemory({ url: own.server.url }),
      new RedisChatMemory({ url: own.server.url }),
    ] as const;
    const [runs, others] = [redisRuns(memories[0]), redisRuns(memories[1])];
    await Promise.all([runs.active("s"), others.active("s")]);
    const before = await commandCalls(own.client);
    const began = performance.now();
    const run = await runs.start("s", { turnId: "t" }, async function* () {
      for (let index = 0; index < words; index += 1) {
        yield `word ${index}`;
        await delay(5);
      }
    });
    const [heard] = await Promise.all([all(others.join("s", { turnId: "t" })), all(run)]);
    const batches = (performance.now() - began) / 50;
    expect(chunksOf(heard)).toHaveLength(words);
    const after = await commandCalls(own.client);
    const calls = [...after].reduce((sum, [name, count]) => sum + count - (before.get(name) ?? 0), 0);
    expect(calls).toBeLessThanOrEqual(60 + 10 * batches);
    await Promise.all(memories.map((memory) => memory.close()));
  });
});
