import { AsyncLocalStorage } from "node:async_hooks";
import { BaseTracer, type Run } from "@langchain/core/tracers/base";
import { RunnableLambda } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { ToolModel } from "../support/agents.js";
import { managerTurn } from "../support/manager-turn.js";
import { ai, human } from "../support/messages.js";
import { all } from "../support/all.js";

// As an import of LangGraph does.
AsyncLocalStorageProviderSingleton.initializeGlobalInstance(new AsyncLocalStorage());

/** Keeps the runs that ended, as the tracers of LangSmith do. */
class Tracer extends BaseTracer {
  readonly name = "test_tracer";
  override readonly awaitHandlers = true;
  readonly ended: Run[] = [];
  protected override persistRun(): Promise<void> {
    return Promise.resolve();
  }
  override onRunUpdate(run: Run): void {
    this.ended.push(run);
  }
}

const session = { configurable: { sessionId: "ann" } };

async function sessionWith(): Promise<{ memory: RedisChatMemory; summaries: ToolModel }> {
  const summaries = new ToolModel(() => "A SUMMARY");
  const reducer = new ChatHistorySummarizationReducer({ model: summaries, targetCount: 2, thresholdCount: 2 });
  const memory = new RedisChatMemory({ store: new InMemorySessionStore(), reducer });
  await memory.history("ann").addMessages([human("one"), ai("two"), human("three"), ai("four")]);
  summaries.sent.length = 0;
  return { memory, summaries };
}

type Door = (memory: RedisChatMemory, tracer: Tracer) => Promise<unknown>;
const answer = () => new ToolModel(() => "answer");
const config = (tracer: Tracer) => ({ ...session, callbacks: [tracer], metadata: { tenant: "acme" } });

const doors: readonly (readonly [string, RegExp, Door])[] = [
  [
    "a history inside a run",
    /^RunnableLambda$/,
    (memory, tracer) => {
      const turn = () => memory.history("ann").addMessages([human("q"), ai("a")]);
      return RunnableLambda.from(turn).invoke("q", config(tracer));
    },
  ],
  [
    "a chain",
    /^RunnableWithRedisMemory$/,
    (memory, tracer) => withRedisMemory(answer(), { memory }).invoke("q", config(tracer)),
  ],
  [
    "a chain's stream",
    /^RunnableWithRedisMemory$/,
    async (memory, tracer) => {
      await all(await withRedisMemory(answer(), { memory }).stream("q", config(tracer)));
    },
  ],
  [
    "an agent",
    /^(model_request|RedisMemory.after_agent)$/,
    (memory, tracer) => {
      const agent = createAgent({ model: answer(), tools: [], middleware: [redisMemoryMiddleware({ memory })] });
      return agent.invoke({ messages: [human("q")] }, config(tracer));
    },
  ],
  [
    "a HistoryManager inside a run",
    /^RunnableLambda$/,
    (memory, tracer) => {
      const turn = () => managerTurn(memory.history("ann"), "q", "a");
      return RunnableLambda.from(turn).invoke("q", config(tracer));
    },
  ],
];

describe("the reduction that follows a write", () => {
  it.each(doors)("of %s is a child run of its trace, with the summary's model call inside", async (_, parent, door) => {
    const { memory, summaries } = await sessionWith();
    const tracer = new Tracer();
    await door(memory, tracer);
    const reductions = tracer.ended.filter(({ name }) => name === "reduce_view");
    expect(reductions.length).toBeGreaterThan(0);
    for (const { parent_run_id: parentId, inputs, extra } of reductions) {
      expect(inputs).toEqual({ messages: expect.any(Number) });
      expect(extra).toMatchObject({ metadata: { tenant: "acme" } });
      expect(tracer.ended.find((run) => run.id === parentId)?.name).toMatch(parent);
    }
    const ids = new Set<string | undefined>(reductions.map(({ id }) => id));
    const calls = tracer.ended.filter((run) => run.run_type === "llm" && ids.has(run.parent_run_id));
    expect(calls).toHaveLength(summaries.sent.length);
    expect(calls.length).toBeGreaterThan(0);
  });
});
