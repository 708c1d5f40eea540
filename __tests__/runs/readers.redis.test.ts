import fc from "fast-check";
import { RedisChatMemory, sessionConfig } from "langchain-redis-memory";
import { redisRuns, type RedisRuns } from "langchain-redis-memory/runs";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware, type AgentMiddleware } from "langchain";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { getEventListeners } from "node:events";
import { startTcpProxy } from "../../tools/testkit/proxies/tcp-proxy.js";
import { forAllAsync } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { chunksOf, readAll, spoken, all } from "./spoken-source.js";
import { lookup, lookupCall, stepsModel, ToolModel } from "../support/agents.js";
import { newMemory } from "../support/memories.js";
import { plain } from "./plain-values.js";
import { until } from "../../tools/testkit/servers/until.js";

/** The most readers of a run. */
const mostReaders = Number(process.env["RUN_READERS"] ?? 5);

/** A reader that comes and goes: on which instances, how many items it takes before it leaves, and how slowly. */
const visits = fc.array(
  fc.record({ instance: fc.nat(2), items: fc.integer({ min: 1, max: 12 }), pauseMs: fc.constantFrom(0, 0, 1) }),
  { maxLength: 8 },
);

/** Between which chunks all connections break, and whether replies are lost before. */
const cuts = fc.array(fc.record({ at: fc.nat(60), losesReplies: fc.boolean() }), { maxLength: 3 });

const scenes = fc.record({
  producer: fc.nat(2),
  form: fc.constantFrom({}, { encryption: testKeys("k1") }),
  chunks: fc.integer({ min: 0, max: 60 }),
  batchMs: fc.constantFrom(0, 1, 5),
  readers: fc.array(visits, { minLength: Math.ceil(mostReaders / 5), maxLength: mostReaders, size: "max" }),
  cuts,
});

describe("readers of a run", () => {
  it("get every chunk once and in order, from any position, on any instance, over broken connections", () =>
    forAllAsync(10, scenes, async ({ producer, form, chunks, batchMs, readers, cuts }) => {
      const wire = await openWire();
      const redis = { keyPrefix: uniquePrefix(), commandTimeout: 60_000 };
      const memories = [0, 1, 2].map(() => new RedisChatMemory({ url: wire.url, redis, ...form }));
      const runs = memories.map((memory) => redisRuns(memory, { batchMs, lostAfterMs: 600_000 }));
      try {
        const { work, say, end } = spoken();
        await runs[producer]!.start("s", { turnId: "t" }, work);
        const reading = readers.map((reader) => readAll(runs, "s", reader));
        for (let index = 0; index < chunks; index += 1) {
          cuts.filter(({ at }) => at === index).forEach((cut) => wire.break(cut));
          await new Promise(setImmediate);
          say({ index });
        }
        end();
        const expected = Array.from({ length: chunks }, (_, index) => ({ index }));
        for (const items of await Promise.all(reading)) {
          expect(chunksOf(items)).toEqual(expected);
          expect(items.at(-1)).toEqual({ state: "done" });
        }
      } finally {
        await Promise.all(memories.map((memory) => memory.close()));
        await wire.stop();
      }
    }));
});

/** A way to Redis that breaks, at once or after some milliseconds in which commands arrive and replies do not. */
async function openWire() {
  const { hostname: host, port } = new URL(sharedRedisUrl());
  let isDeaf = false;
  const proxy = await startTcpProxy({ host, port: Number(port) }, (client, upstream) => {
    client.on("data", (data) => upstream.write(data));
    upstream.on("data", (data) => isDeaf || client.write(data));
  });
  const cut = () => {
    isDeaf = false;
    proxy.cut();
  };
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    break: ({ losesReplies }: { readonly losesReplies: boolean }) => {
      // Until the connection breaks: behind a lost reply the next one would be taken for it.
      isDeaf ||= losesReplies;
      setTimeout(cut, losesReplies ? 5 : 0);
    },
    stop: () => proxy.stop(),
  };
}

describe("a run of an agent", () => {
  const redis = { keyPrefix: uniquePrefix() };
  const modes = ["values", "updates", "messages", "custom", "tasks", "debug"] as const;
  const streams = [...modes, [...modes], "streamEvents"] as const;

  it.each(streams)("is read by another instance as it streams: %s", async (streamMode) => {
    const [memory, other] = [newMemory({ redis }), newMemory({ redis })];
    const [runs, far] = [redisRuns(memory, { lostAfterMs: 600_000 }), redisRuns(other, { lostAfterMs: 600_000 })];
    const agent = createAgent({
      model: stepsModel(2),
      tools: [lookup],
      middleware: [redisMemoryMiddleware({ memory })],
    });
    const sessionId = String(streamMode);
    const config = sessionConfig({ sessionId, turnId: "t" });
    const input = { messages: [{ role: "user" as const, content: "hi" }] };
    const said: unknown[] = [];
    async function* work(signal: AbortSignal): AsyncGenerator<unknown> {
      const source: AsyncIterable<unknown> =
        streamMode === "streamEvents"
          ? agent.streamEvents(input, { ...config, signal, version: "v2" })
          : await agent.stream(input, { ...config, signal, streamMode: streamMode as "values" });
      for await (const chunk of source) {
        said.push(plain(chunk));
        yield chunk;
      }
    }
    await runs.start(sessionId, { turnId: "t" }, work);
    const items = await all(far.join(sessionId));
    expect(items.at(-1)).toEqual({ state: "done" });
    expect(chunksOf(items).map(plain)).toEqual(said);
    expect(said.length).toBeGreaterThan(streamMode === "custom" ? -1 : 2);
  });

  const showing = ["values", "updates", [...modes]] as const;
  it.each(showing.flatMap((mode) => (["its memory", "RedisSaver"] as const).map((by) => [mode, by] as const)))(
    "waits for a human where its stream shows the question (%s), with the checkpointer of %s",
    async (streamMode, by) => {
      const [memory, other] = [newMemory({ redis }), newMemory({ redis })];
      const [runs, far] = [redisRuns(memory, { lostAfterMs: 600_000 }), redisRuns(other, { lostAfterMs: 600_000 })];
      const human = humanInTheLoopMiddleware({ interruptOn: { lookup: true } }) as unknown as AgentMiddleware;
      const isOfMemory = by === "its memory";
      const model: ToolModel = new ToolModel(() => (model.sent.length === 1 ? lookupCall("x") : "done"));
      const agent = createAgent({
        model,
        tools: [lookup],
        checkpointer: isOfMemory ? new MemorySaver() : new RedisSaver({ memory }),
        middleware: isOfMemory ? [redisMemoryMiddleware({ memory }), human] : [human],
      });
      const id = `${String(streamMode)} ${by}`;
      const config = { ...sessionConfig({ sessionId: id, turnId: "t" }) };
      const settings = { configurable: { ...config.configurable, thread_id: id }, streamMode: streamMode as "values" };
      const play = (input: object) =>
        runs.start<unknown>(id, { turnId: "t" }, (signal) => agent.stream(input as never, { ...settings, signal }));
      const asked = await play({ messages: [{ role: "user", content: "hi" }] });
      expect((await all(asked)).at(-1)).toEqual({ state: "waiting" });
      expect(await far.active(id)).toMatchObject({ turnId: "t", state: "waiting" });
      const answered = await play(new Command({ resume: { decisions: [{ type: "approve" }] } }));
      expect((await all(answered)).at(-1)).toEqual({ state: "done" });
      expect(await far.active(id)).toBeUndefined();
    },
  );
});

const count = 1_000;
const words = Array.from({ length: count }, (_, index) => `word ${index}`);

/** Two instances; `reads` counts the reads of streams that the second one makes. */
function place() {
  const redis = { keyPrefix: uniquePrefix() };
  let reads = 0;
  const onEvent = (event: { readonly type: string; readonly operation?: string }) => {
    reads += event.type === "command" && event.operation === "readRun" ? 1 : 0;
  };
  const memories = [newMemory({ redis }), newMemory({ redis, onEvent })];
  const settings = { lostAfterMs: 600_000, batchMs: 1 };
  const runs = memories.map((memory) => redisRuns(memory, settings)) as [RedisRuns, RedisRuns];
  return { runs, reads: () => reads };
}

/** The texts of the chunks in server-sent events. */
const wordsIn = (body: string) => [...body.matchAll(/^id: .*\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data!));

describe("a stream of events that nobody reads", () => {
  it.each([
    ["the run's own instance", 0],
    ["another instance", 1],
  ])("takes no more than one event from a run that goes on, on %s, and all of it later", async (_, at) => {
    const { runs, reads } = place();
    const { work, say, end } = spoken();
    const run = await runs[0].start("s", { turnId: "t" }, work);
    const made = Array.from({ length: 20 }, () => 0);
    const streams = made.map((_one, index) => {
      const encode = (chunk: unknown) => ((made[index]! += 1), JSON.stringify(chunk));
      return runs[at]!.join("s", { turnId: "t" }).toSSE({ encode });
    });
    const reader = all(runs[at]!.join("s", { turnId: "t" }));
    say(...words);
    end();
    // Those who read have all of it, and the run has ended.
    expect([chunksOf(await all(run)), chunksOf(await reader)]).toEqual([words, words]);
    expect(made.filter((events) => events > 1)).toEqual([]);
    const before = reads();
    const bodies = await Promise.all(streams.map((stream) => new Response(stream).text()));
    expect(bodies.map((body) => wordsIn(body).length)).toEqual(made.map(() => count));
    expect([wordsIn(bodies[0]!), bodies[0]!.endsWith('event: end\ndata: {"state":"done"}\n\n')]).toEqual([words, true]);
    // What waits for them is there once for all readers of a process.
    expect(reads()).toBe(before);
  });

  it("releases the run when it is left, or its signal aborts", async () => {
    const { runs, reads } = place();
    const { work, say, end } = spoken();
    const run = await runs[0].start("s", { turnId: "t" }, work);
    say(...words);
    const signal = new AbortController();
    const streams = [{}, { signal: signal.signal }].map((options) => runs[1].join("s", { turnId: "t" }).toSSE(options));
    const [left, aborted] = streams.map((stream) => stream.getReader());
    await Promise.all([left!.read(), aborted!.read()]);
    /** How often a reader that joins, and leaves behind the last word, reads the stream. */
    const readsOfOneMore = async () => {
      const before = reads();
      let heard = 0;
      for await (const _ of runs[1].join("s", { turnId: "t" })) {
        if ((heard += 1) === count) {
          break;
        }
      }
      return reads() - before;
    };
    // What is kept for the readers of a process is read on beside them, which may count as one more.
    const isShared = async () => (await readsOfOneMore()) === 0;
    await until("what was read is shared", isShared);
    await left!.cancel();
    await until("what was read is shared by those who stay", isShared);
    signal.abort();
    expect(getEventListeners(signal.signal, "abort")).toEqual([]);
    // Nothing of the run is kept for those who left: each one that joins reads it again.
    await until("each one reads the run again", async () => {
      const reads = [await readsOfOneMore(), await readsOfOneMore(), await readsOfOneMore()];
      return reads.every((count) => count > 0);
    });
    end();
    await all(run);
  });
});
