import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware, type AgentMiddleware } from "langchain";
import { sessionConfig } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { redisRuns } from "langchain-redis-memory/runs";
import { lookup, lookupCall, stepsModel, ToolModel } from "../support/agents.js";
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
