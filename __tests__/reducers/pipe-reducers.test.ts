import { trimMessages } from "@langchain/core/messages";
import { pipeReducers } from "../../src/conversation/reducers/pipe-reducers.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { ChatHistoryToolResultReducer } from "../../src/conversation/reducers/tool-result-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { CountingCounter } from "../support/counting-counter.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";

const step = (id: string) => [aiCalls(id), tool(id, "result ".repeat(200))];
const conversation = [human("1"), ...step("a"), ...step("b"), ai("done"), human("2")];

describe("pipeReducers", () => {
  it("runs each reducer on the previous result", async () => {
    const tokenCounter = new CountingCounter({ perRequest: 0 });
    const gentle = new ChatHistoryToolResultReducer({ keepLast: 1, thresholdCount: 0, maxCharacters: 20 });
    const hard = new ChatHistoryTokenReducer({ maxTokens: 1000, tokenCounter });
    const outcome = await pipeReducers(gentle, hard).reduceWithOutcome(conversation);
    expect(outcome.messages).toHaveLength(7);
    expect(outcome).toMatchObject({
      changed: true,
      removed: [],
      before: { tokens: tokenCounter.totalOf(conversation) },
    });
    expect(outcome.after.tokens).toBe(tokenCounter.totalOf(outcome.messages));
    expect(outcome.messages[2]!.text.length).toBeLessThanOrEqual(20);
    const tight = pipeReducers(gentle, new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter }));
    const cut = await tight.reduceWithOutcome(conversation);
    expect(cut.messages).toEqual([conversation[0], conversation[5], conversation[6]]);
    expect(cut.removed).toEqual(conversation.slice(1, 5));
  });

  it("has nothing to do if no part has", async () => {
    const idle = pipeReducers(new ChatHistoryTruncationReducer({ targetCount: 50 }), (messages) => messages);
    expect(await idle.reduce(conversation)).toBeNull();
    expect(await idle.invoke(conversation)).toEqual(conversation);
  });

  it("also accepts other Runnables and functions", async () => {
    const trimming = trimMessages({ maxTokens: 4, tokenCounter: (messages) => messages.length, strategy: "last" });
    const result = await pipeReducers(trimming, (messages) => messages.slice(-1)).reduce(conversation);
    expect(result).toEqual([conversation[6]]);
    expect(result![0]).toBe(conversation[6]);
  });

  it("has the smallest limits of its parts, and the counter of the first that counts", () => {
    const tokenCounter = new CountingCounter({ perRequest: 0 });
    const pipeline = pipeReducers(
      new ChatHistoryTruncationReducer({ targetCount: 9 }),
      new ChatHistoryTruncationReducer({ targetCount: 7 }),
      new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter }),
    );
    expect(pipeline.viewLimit).toEqual({ messages: 7, tokens: 100 });
    expect(pipeline.tokenCounter).toBe(tokenCounter);
    expect(pipeline.requiresLease).toBe(false);
  });

  it("reports by how much the result exceeds the budget, even if a reducer without a budget is last", async () => {
    const tokenCounter = new CountingCounter({ perRequest: 0 });
    const pipeline = pipeReducers(
      new ChatHistoryTokenReducer({ maxTokens: 2, tokenCounter }),
      new ChatHistoryTruncationReducer({ targetCount: 50 }),
    );
    expect((await pipeline.reduceWithOutcome(conversation)).overBudgetBy).toBe(3);
  });

  it("works in a chain and can be piped again", async () => {
    const pipeline = pipeReducers(pipeReducers(new ChatHistoryTruncationReducer({ targetCount: 2 })));
    expect(await pipeline.invoke({ messages: ["1", ["ai", "a"], "2", "3"] })).toHaveLength(2);
    expect(pipeline.getName()).toBe("ReducerPipeline");
  });

  it.each([[[]], [[undefined]], [[7]]])("refuses %p as parts", (parts) => {
    expect(() => pipeReducers(...(parts as never[]))).toThrow(expect.objectContaining({ name: "ConfigurationError" }));
  });
});
