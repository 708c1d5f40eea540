import { createAgent } from "langchain";
import { sessionConfig } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { redisRuns } from "langchain-redis-memory/runs";
import { lookup, stepsModel } from "../support/agents.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { plain } from "./plain-values.js";
import { all, chunksOf } from "./spoken-source.js";

afterEach(closeMemories);

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
});
