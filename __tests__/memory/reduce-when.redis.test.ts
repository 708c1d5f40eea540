import { createAgent } from "langchain";
import { HumanMessage } from "@langchain/core/messages";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { ChatHistoryTruncationReducer } from "../../src/entries/index.js";
import { lookup, lookupCall, ToolModel } from "../support/agents.js";
import { events, newMemory } from "../support/memories.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { pipeReducers } from "../../src/conversation/reducers/pipe-reducers.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { ChatHistoryToolResultReducer } from "../../src/conversation/reducers/tool-result-reducer.js";
import { approximateCounter } from "../../src/conversation/tokens/counters/approximate-counter.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const reducer = () => new ChatHistoryTruncationReducer({ targetCount: 4 });
const reductions = () => events.filter(({ type }) => type === "reduced").length;

describe("a history with a reducer of four messages", () => {
  const written = [human("q"), ai("a"), human("r"), aiCalls("c1"), tool("c1"), aiCalls("c2"), tool("c2")];

  it.each([
    [undefined, [0, 0, 0, 0, 0, 0, 0]],
    ["always" as const, [0, 0, 0, 0, 0, 1, 1]],
  ])("is reduced as %s says while a turn goes on, and after it", async (reduceWhen, expected) => {
    const history = newMemory({ reducer: reducer(), ...(reduceWhen && { reduceWhen }) }).history("ann");
    const seen: number[] = [];
    for (const message of written) {
      await history.addMessage(message);
      seen.push(reductions());
    }
    expect(seen).toEqual(expected);
    await history.addMessage(ai("b"));
    expect(reductions()).toBeGreaterThan(0);
    expect((await history.getMessages()).length).toBeLessThanOrEqual(6);
  });

  it("is reduced in the middle of a turn above twice the number", async () => {
    const history = newMemory({ reducer: reducer() }).history("ann");
    await history.addMessages(written);
    expect(reductions()).toBe(0);
    await history.addMessages([aiCalls("c3"), tool("c3")]);
    expect(reductions()).toBe(1);
  });
});

describe("an agent's loop with a reducer of four messages", () => {
  it.each([
    [undefined, [1, 3, 5, 7, 5]],
    ["always" as const, [1, 3, 5, 5, 5]],
  ])("is reduced as %s says, at the latest above the hard limit", async (reduceWhen, expected) => {
    const memory = newMemory({ reducer: reducer(), ...(reduceWhen && { reduceWhen }) });
    let calls = 0;
    const model = new ToolModel(() => ((calls += 1) < 5 ? lookupCall(`x${calls}`) : "done"));
    const agent = createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] });
    await agent.invoke({ messages: [new HumanMessage("q")] }, { configurable: { sessionId: "ann" } });
    expect(model.sent.map((messages) => messages.length)).toEqual(expected);
  });
});

describe("a session of 20 tool turns with a reducer of tool results", () => {
  it("is reduced at most 6 times, and keeps its newest tool results whole", async () => {
    let reductions = 0;
    const memory = new RedisChatMemory({
      url: sharedRedisUrl(),
      redis: { keyPrefix: uniquePrefix() },
      reducer: pipeReducers(
        new ChatHistoryToolResultReducer({ keepLast: 3 }),
        new ChatHistoryTokenReducer({ maxTokens: 8_000, tokenCounter: approximateCounter() }),
      ),
      onEvent: ({ type }) => (reductions += type === "reduced" ? 1 : 0),
    });
    const history = memory.history("loop");
    for (let turn = 0; turn < 20; turn += 1) {
      const call = `c${turn}`;
      const messages = [human(`q${turn}`), aiCalls(call), tool(call, `row ${turn}, `.repeat(150)), ai(`a${turn}`)];
      await history.append(messages);
    }
    expect(reductions).toBeGreaterThan(0);
    expect(reductions).toBeLessThanOrEqual(6);
    const view = await history.getMessages();
    expect(view).toHaveLength(80);
    const whole = view.filter(({ type, text }) => type === "tool" && text.length > 1_000);
    expect(whole.slice(-3).map(({ text }) => text.slice(0, 6))).toEqual(["row 17", "row 18", "row 19"]);
    expect(whole.length).toBeLessThanOrEqual(6);
    await memory.close();
  });
});
