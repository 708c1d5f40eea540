import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { redisRuns, type RedisRuns } from "langchain-redis-memory/runs";
import { closeMemories, newMemory } from "../support/memories.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { all } from "./spoken-source.js";

afterEach(closeMemories);

const state = Annotation.Root({
  log: Annotation<string[]>({ reducer: (left, right) => left.concat(right), default: () => [] }),
});
const asking = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(state)
    .addNode("ask", () => ({ log: [`answer: ${interrupt("Shall I?")}`] }))
    .addEdge(START, "ask")
    .compile({ checkpointer });
const thread = (id: string) => ({ configurable: { thread_id: id } });
const approve = () => new Command<string, Record<string, unknown>, never>({ resume: "yes" });
const modes = ["updates", "values", "messages"] as const;
const durabilities = ["async", "sync", "exit"] as const;

describe("a run whose graph asks a human", () => {
  function place(encryption?: ReturnType<typeof testKeys>) {
    const options = { redis: { keyPrefix: uniquePrefix() }, ...(encryption && { encryption }) };
    const memories = [newMemory(options), newMemory(options)] as const;
    const runs = memories.map((memory) => redisRuns(memory, { lostAfterMs: 600_000 })) as [RedisRuns, RedisRuns];
    return { runs, saver: new RedisSaver({ memory: memories[0] }) };
  }

  it.each(modes.flatMap((mode) => durabilities.map((durability) => [mode, durability] as const)))(
    "is done where the work answers itself (%s, %s), and waits where nobody does",
    async (streamMode, durability) => {
      const { runs, saver } = place();
      const graph = asking(saver);
      const how = (id: string, signal: AbortSignal) => ({ ...thread(id), signal, streamMode, durability });
      const answered = await runs[0].start("answered", { turnId: "t" }, async function* (signal) {
        yield* await graph.stream({ log: ["q"] }, how("answered", signal));
        yield* await graph.stream(approve(), how("answered", signal));
      });
      expect((await all(answered)).at(-1)).toEqual({ state: "done" });
      expect(await runs[1].active("answered")).toBeUndefined();
      const open = await runs[0].start("open", { turnId: "t" }, (signal) =>
        graph.stream({ log: ["q"] }, how("open", signal)),
      );
      expect((await all(open)).at(-1)).toEqual({ state: "waiting" });
      expect(await runs[1].active("open")).toMatchObject({ state: "waiting" });
    },
  );

  it("is done where the work answers a graph with a thread of its own, and waits for another one", async () => {
    const { runs, saver } = place();
    const graph = asking(saver);
    const ask = (id: string) => graph.invoke({ log: ["q"] }, thread(id));
    const play = async (id: string, open: readonly string[]) =>
      all(
        await runs[0].start(id, { turnId: "t" }, async function* () {
          await Promise.all([`${id} inner`, ...open].map(ask));
          yield (await graph.invoke(approve(), thread(`${id} inner`))).log;
        }),
      );
    expect((await play("s", [])).at(-1)).toEqual({ state: "done" });
    expect((await play("u", ["other"])).at(-1)).toEqual({ state: "waiting" });
  });

  it.each([undefined, testKeys("k1")])(
    "is active no longer once an invoke outside of runs has answered",
    async (keys) => {
      const { runs, saver } = place(keys);
      const graph = asking(saver);
      const run = await runs[0].start("s", { turnId: "t" }, (signal) =>
        graph.stream({ log: ["q"] }, { ...thread("another id"), signal }),
      );
      expect((await all(run)).at(-1)).toEqual({ state: "waiting" });
      expect(await runs[1].active("s")).toMatchObject({ state: "waiting" });
      await graph.invoke(approve(), thread("another id"));
      expect(await runs[1].active("s")).toBeUndefined();
      // What readers of the run get does not change.
      expect((await all(runs[1].join("s"))).at(-1)).toEqual({ state: "waiting" });
    },
  );
});
