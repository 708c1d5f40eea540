import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { createAgent } from "langchain";
import { writeTurn } from "../../src/memory/session/append-options.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { characterCounter } from "../history-manager/instances.js";
import { lookup, sketch, ToolModel } from "../support/agents.js";
import { closeMemories, events, newMemory } from "../support/memories.js";

afterEach(closeMemories);

const config = { configurable: { sessionId: "ann", turnId: "job" } };
const question = (id: string) => new HumanMessage({ content: "look", id });
const call = new AIMessage({
  content: "",
  id: "call",
  tool_calls: [{ id: "c1", name: "lookup", args: { query: "x" }, type: "tool_call" }],
});
const result = new ToolMessage({ content: "found x", id: "result", tool_call_id: "c1" });
const stopped = new AIMessage({ content: "It is", id: "stopped", response_metadata: { interrupted: true } });

/** Answers by what it is shown, so that a call that lacks the question or the step shows. */
const newModel = () => new ToolModel((messages) => sketch(messages).join(" | "));

const doors = {
  chain: (memory: RedisChatMemory, asked: BaseMessage) => {
    return withRedisMemory(newModel(), { memory, persist: "step" }).invoke([asked], config);
  },
  "chain that stores a turn at once": (memory: RedisChatMemory, asked: BaseMessage) => {
    return withRedisMemory(newModel(), { memory, persist: "turn" }).invoke([asked], config);
  },
  agent: (memory: RedisChatMemory, asked: BaseMessage) => {
    const middleware = [redisMemoryMiddleware({ memory, persist: "step" })];
    return createAgent({ model: newModel(), tools: [lookup], middleware }).invoke({ messages: [asked] }, config);
  },
  "agent that stores a turn at once": (memory: RedisChatMemory, asked: BaseMessage) => {
    const middleware = [redisMemoryMiddleware({ memory, persist: "turn" })];
    return createAgent({ model: newModel(), tools: [lookup], middleware }).invoke({ messages: [asked] }, config);
  },
  HistoryManager: async (memory: RedisChatMemory, { text }: BaseMessage) => {
    const history = memory.history("ann");
    const manager = new HistoryManager({ history, maxInputTokens: 100_000, tokenCounter: characterCounter() });
    const asked = { originalUserMessage: text, renderedUserMessage: text, renderedSystemMessage: "", turnId: "job" };
    const { messages } = await manager.getHistoryForModelCall(asked);
    manager.addAssistantMessage(new AIMessage(sketch(messages).join(" | ")));
    return manager.commit();
  },
};

/** A session of which somebody else's reducer left only the end, and discarded the rest. */
async function memoryWith(turn: readonly BaseMessage[], left: number) {
  const reducer = RunnableLambda.from((messages: BaseMessage[]) => messages.slice(messages.length - left));
  const memory = newMemory({ reducer, retention: "discard", reduceWhen: "never" });
  const history = memory.history("ann");
  await writeTurn(history, turn, { turnId: "job", turn: { done: false } });
  await history.reduceView();
  return memory;
}

const all = Object.keys(doors) as (keyof typeof doors)[];

describe.each(all)("a turn whose question was discarded, by the %s", (door) => {
  it.each([
    ["the same id", "q1"],
    ["another id", "q2"],
  ])("goes on behind the step that is left, where a retry brings the question with %s", async (_, id) => {
    const memory = await memoryWith([question("q1"), call, result], 2);
    await doors[door](memory, question(id));
    const log = sketch(await memory.history("ann").getTranscript());
    expect(log).toEqual(["<ai>", "found x", "look | <ai> | found x"]);
    await doors[door](memory, question(id));
    expect(sketch(await memory.history("ann").getTranscript())).toEqual(log);
    expect(events.filter(({ type }) => type === "turn_not_stored")).toEqual([]);
  });

  it.each([
    ["the same id", "q1"],
    ["another id", "q2"],
  ])("gets its answer in the place of the interrupted one, where a retry brings %s", async (_, id) => {
    const memory = await memoryWith([question("q1"), stopped], 1);
    await doors[door](memory, question(id));
    const log = sketch(await memory.history("ann").getTranscript());
    expect(log).toEqual(["look"]);
    await doors[door](memory, question(id));
    expect(sketch(await memory.history("ann").getTranscript())).toEqual(log);
    expect(events.filter(({ type }) => type === "turn_not_stored")).toEqual([]);
  });

  it.each([
    ["the same id", "q1"],
    ["another id", "q2"],
  ])("is done again where nothing is left of it and a retry brings %s", async (_, id) => {
    const memory = await memoryWith([question("q1"), call, result], 0);
    await doors[door](memory, question(id));
    const log = sketch(await memory.history("ann").getTranscript());
    // A known id says that the question was stored, and so it is not stored again.
    const isKnown = id === "q1" && door !== "HistoryManager";
    expect(log).toEqual(isKnown ? ["look"] : ["look", "look"]);
    await doors[door](memory, question(id));
    expect(sketch(await memory.history("ann").getTranscript())).toEqual(log);
    expect(events.filter(({ type }) => type === "turn_not_stored")).toEqual([]);
  });
});
