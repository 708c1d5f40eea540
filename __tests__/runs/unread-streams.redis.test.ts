import { getEventListeners } from "node:events";
import { redisRuns, type RedisRuns } from "langchain-redis-memory/runs";
import { until } from "../../tools/testkit/servers/until.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { all, chunksOf, spoken } from "./spoken-source.js";

afterEach(closeMemories);

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
