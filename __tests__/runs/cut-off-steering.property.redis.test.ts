import fc from "fast-check";
import { createAgent } from "langchain";
import { RedisChatMemory, sessionConfig } from "langchain-redis-memory";
import { redisMemoryMiddleware, steeringMiddleware } from "langchain-redis-memory/agent";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { redisRuns, type RedisRuns } from "langchain-redis-memory/runs";
import { startTcpProxy } from "../../tools/testkit/proxies/tcp-proxy.js";
import { lookup, lookupCall, sketch, ToolModel } from "../support/agents.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { all } from "./spoken-source.js";

afterEach(closeMemories);

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

  it("is stored once and in order, or is for the next run, wherever its process dies", async () => {
    await fc.assert(
      fc.asyncProperty(scenes, async ({ sends, ...scene }) => {
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
      }),
      { numRuns: propertyRuns(4) },
    );
  });
});

/** Resolves when no run is under way, or what is there has been taken for lost. */
async function lastsUntilOver(runs: RedisRuns): Promise<void> {
  await all(runs.join("s"));
}
