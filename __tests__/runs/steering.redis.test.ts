import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { createAgent } from "langchain";
import { sessionConfig, RedisChatMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware, steeringMiddleware } from "langchain-redis-memory/agent";
import { type RedisRuns, redisRuns } from "langchain-redis-memory/runs";
import fc from "fast-check";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { lookup, lookupCall, sketch, ToolModel } from "../support/agents.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { newMemory } from "../support/memories.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { plainAndEncrypted } from "../support/test-keys.js";
import { all, first, spoken, twoInstances } from "./spoken-source.js";
import { startTcpProxy } from "../../tools/testkit/proxies/tcp-proxy.js";
import { forAllAsync } from "../support/property-runs.js";

/** A model whose calls a test answers one by one; the stream of a run begins with its first answer. */
function asked() {
  const calls: { sent: string[]; answer: (with_: AIMessage | Error) => void }[] = [];
  let wake = () => {};
  const model = new ToolModel((messages) => {
    return new Promise((answer) => {
      calls.push({ sent: sketch(messages), answer });
      wake();
    });
  });
  /** The next call, once it is made. */
  const call = async () => {
    while (calls.length === 0) {
      await new Promise<void>((resolve) => (wake = resolve));
    }
    return calls.shift()!;
  };
  return { model, call };
}

function agentWork(
  { memory, runs, model }: { memory: RedisChatMemory; runs: RedisRuns; model: ToolModel },
  { turnId, text, persist = "step" }: { turnId: string; text: string; persist?: "step" | "turn" },
) {
  const middleware = [redisMemoryMiddleware({ memory, persist }), steeringMiddleware({ runs })];
  const agent = createAgent({ model, tools: [lookup], middleware });
  const input = { messages: [{ role: "user" as const, content: text }] };
  return (signal: AbortSignal) =>
    agent.stream(input, { ...sessionConfig({ sessionId: "s", turnId }), signal, streamMode: "messages" });
}

const said = (id: string) => new HumanMessage({ id, content: id });
const answer = (content: string) => new AIMessage({ id: `id of ${content}`, content });

describe.each(plainAndEncrypted)("what is said to a running agent, %s", (_, form) => {
  const instances = () => twoInstances({ ...form, redis: { limits: { maxMessageBytes: 5_000 } } });
  const closed = closedAfterEach();

  it.each(["step", "turn"] as const)(
    "is seen by its next model call, and stored in the turn, once and in order (persist: %s)",
    async (persist) => {
      const { memories, runs, keyPrefix } = instances();
      const { model, call } = asked();
      const part = { memory: memories[0], runs: runs[0], model };
      const run = runs[0].start("s", { turnId: "t" }, agentWork(part, { turnId: "t", text: "q", persist }));
      const one = await call();
      expect(await runs[1].steer("s", said("m1"))).toBe("steered");
      expect(await runs[0].steer("s", said("m2"))).toBe("steered");
      expect(await runs[1].steer("s", said("m1"))).toBe("steered");
      one.answer(lookupCall("x"));
      const two = await call();
      expect(two.sent).toEqual(["q", "<ai>", "found x", "m1", "m2"]);
      const joined = await runs[1].start("s", { turnId: "u", whileRunning: "steer", message: said("m3") }, () => {
        throw new Error("not called");
      });
      two.answer(answer("first"));
      const three = await call();
      expect(three.sent).toEqual(["q", "<ai>", "found x", "m1", "m2", "first", "m3"]);
      three.answer(answer("second"));
      expect((await all(joined)).at(-1)).toEqual({ state: "done" });
      expect(await runs[1].steer("s", "late")).toBe("idle");
      expect(sketch(await memories[1].history("s").getTranscript())).toEqual([...three.sent, "second"]);
      const client = closed(new Redis(sharedRedisUrl()));
      expect(await client.exists(`${keyPrefix}:{s}:run:steers`)).toBe(0);
      expect((await all(await run)).at(-1)).toEqual({ state: "done" });
      // A retry of the turn gets what is stored, without a model call.
      const again = await runs[1].start("s", { turnId: "t" }, agentWork(part, { turnId: "t", text: "q", persist }));
      expect((await all(again)).at(-1)).toEqual({ state: "done" });
      expect(await memories[1].history("s").getTranscript()).toHaveLength(8);
    },
  );

  it("and was not seen when the run failed is seen by the next run; what was stored is not said again", async () => {
    const { memories, runs } = instances();
    const { model, call } = asked();
    const part = { memory: memories[0], runs: runs[0], model };
    const run = runs[0].start("s", { turnId: "t" }, agentWork(part, { turnId: "t", text: "q" }));
    const one = await call();
    await runs[1].steer("s", said("m1"));
    one.answer(lookupCall("x"));
    const two = await call();
    await runs[1].steer("s", said("m2"));
    two.answer(new Error("overloaded"));
    expect((await all(await run)).at(-1)).toMatchObject({ state: "failed" });
    const other = { ...part, memory: memories[1], runs: runs[1] };
    const next = runs[1].start("s", { turnId: "t" }, agentWork(other, { turnId: "t", text: "q" }));
    const three = await call();
    expect(three.sent).toEqual(["q", "<ai>", "found x", "m1", "m2"]);
    three.answer(answer("a"));
    expect((await all(await next)).at(-1)).toEqual({ state: "done" });
    expect(sketch(await memories[1].history("s").getTranscript())).toEqual([...three.sent, "a"]);
  });

  it("is idle for a chain, and becomes its next turn where it may wait", async () => {
    const { runs } = instances();
    const [one, two] = [spoken(), spoken()];
    await runs[0].start("s", { turnId: "t" }, one.work);
    expect(await runs[1].steer("s", "more")).toBe("idle");
    const waiting = runs[1].start("s", { turnId: "u", whileRunning: "steer", message: "more" }, two.work);
    one.end();
    const next = await waiting;
    two.say("x");
    expect(await first(next, 1)).toMatchObject([{ chunk: "x" }]);
    expect(await runs[0].active("s")).toMatchObject({ turnId: "u" });
  });

  it("is closed to other owners, other roles, large messages and erased sessions", async () => {
    const { memories, runs, keyPrefix } = instances();
    const client = closed(new Redis(sharedRedisUrl()));
    const { model, call } = asked();
    const part = { memory: memories[0], runs: runs[0], model };
    const owner = "ann";
    const run = runs[0].start("s", { turnId: "t", owner }, agentWork(part, { turnId: "t", text: "q" }));
    const one = await call();
    expect(await runs[1].steer("s", "a secret", { owner })).toBe("steered");
    const stored = JSON.stringify(await client.lrange(`${keyPrefix}:{s}:run:steers`, 0, -1));
    expect(stored.includes("secret")).toBe(!("encryption" in form));
    expect(await client.pttl(`${keyPrefix}:{s}:run:steers`)).toBeGreaterThan(0);
    await expect(runs[1].steer("s", "x", { owner: "bob" })).rejects.toMatchObject({ code: "other_owner" });
    await expect(runs[1].steer("s", answer("x"))).rejects.toMatchObject({ option: "message" });
    await expect(runs[1].steer("s", "x".repeat(6_000))).rejects.toMatchObject({ code: "too_large" });
    await Promise.all(Array.from({ length: 99 }, (_, index) => runs[1].steer("s", said(`more ${index}`))));
    await expect(runs[1].steer("s", "one too many")).rejects.toMatchObject({ code: "busy" });
    one.answer(lookupCall("x"));
    const two = await call();
    expect(two.sent).toHaveLength(103);
    expect(two.sent[3]).toBe("a secret");
    await memories[1].sessions.delete("s");
    expect(await client.lrange(`${keyPrefix}:{s}:run:steers`, 0, -1)).toEqual([expect.stringMatching(/^-\d+$/)]);
    await expect(runs[1].steer("s", "x")).rejects.toMatchObject({ code: "erased" });
    await runs[0].stop("s").catch(() => undefined);
    two.answer(answer("a"));
    await run.catch(() => undefined);
  });
});

const settings = { lostAfterMs: 300, batchMs: 1 };
/** More than a run sends once it is told something; mail does not count. */
const mostSends = 20;
interface Scene {
  readonly sends: number;
  readonly persist: "turn" | "step";
  readonly turnId: string;
  readonly hasCheckpointer: boolean;
}
const scenes: fc.Arbitrary<Scene> = fc.record({
  sends: fc.nat(mostSends),
  persist: fc.constantFrom("turn", "step"),
  turnId: fc.constantFrom("t", "u"),
  hasCheckpointer: fc.boolean(),
});

describe("what is said to an agent", () => {
  const closed = closedAfterEach();

  /** A process that Redis hears nothing of from a moment on, as of one that was killed. */
  async function mortal(keyPrefix: string) {
    const state = { sends: Infinity };
    const { hostname: host, port } = new URL(sharedRedisUrl());
    const proxy = closed(
      await startTcpProxy({ host, port: Number(port) }, (client, upstream) => {
        client.on("data", (data) => {
          state.sends -= /:mail\b/.test(data.toString("latin1")) ? 0 : 1;
          return state.sends >= 0 && upstream.write(data);
        });
        upstream.on("data", (data) => state.sends >= 0 && client.write(data));
      }),
    );
    const memory = closed(new RedisChatMemory({ url: `redis://127.0.0.1:${proxy.port}`, redis: { keyPrefix } }));
    const revive = () => {
      state.sends = Infinity;
      proxy.cut();
    };
    return { memory, state, revive };
  }

  function play(
    memory: RedisChatMemory,
    runs: RedisRuns,
    { turnId, persist, hasCheckpointer, script }: Omit<Scene, "sends"> & { script: () => Promise<string | object> },
  ) {
    const middleware = [redisMemoryMiddleware({ memory, persist }), steeringMiddleware({ runs })];
    const threads = hasCheckpointer ? { checkpointer: new RedisSaver({ memory }) } : {};
    const agent = createAgent({ model: new ToolModel(script as never), tools: [lookup], middleware, ...threads });
    const input = { messages: [{ role: "user" as const, content: turnId, id: `question ${turnId}` }] };
    const { configurable } = sessionConfig({ sessionId: "s", turnId });
    const session = { configurable: { ...configurable, thread_id: "s" } };
    return runs.start("s", { turnId, whileRunning: "queue" }, (signal) => agent.stream(input, { ...session, signal }));
  }

  it("is stored once and in order, or is for the next run, wherever its process dies", () =>
    forAllAsync(4, scenes, async ({ sends, ...scene }) => {
      const redis = { keyPrefix: uniquePrefix() };
      const [far, near] = [await mortal(redis.keyPrefix), newMemory({ redis })];
      const runs = [redisRuns(far.memory, settings), redisRuns(near, settings)] as const;
      const told: string[] = [];
      let calls = 0;
      const script = async () => {
        calls += 1;
        if (calls === 1) {
          for (const id of ["m1", "m2"]) {
            told.push(await runs[1].steer("s", { role: "user", content: id, id }));
          }
          far.state.sends = sends;
        }
        return calls === 1 ? lookupCall("x") : "answer";
      };
      const first = play(far.memory, runs[0], { ...scene, turnId: "t", script }).catch(() => undefined);
      // Also where the run of the first process goes through.
      const reading = first.then((run) => run && all(run));
      while (calls === 0) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await lastsUntilOver(runs[1]);
      await all(await play(near, runs[1], { ...scene, script: async () => "answer" }));
      const stored = sketch(await near.history("s").getTranscript());
      const said = ["m1", "m2"].filter((_, index) => told[index] === "steered");
      const saidIn = (texts: readonly string[]) => texts.filter((text) => /^m\d$/.test(text));
      expect(saidIn(stored)).toEqual(said);
      far.revive();
      await reading;
      expect(saidIn(sketch(await near.history("s").getTranscript()))).toEqual(said);
      await far.memory.close();
      await near.close();
    }));
});

/** Resolves when no run is under way, or what is there has been taken for lost. */
async function lastsUntilOver(runs: RedisRuns): Promise<void> {
  await all(runs.join("s"));
}
