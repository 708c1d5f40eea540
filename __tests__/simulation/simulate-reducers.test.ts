import { RunnableLambda } from "@langchain/core/runnables";
import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { ChatHistoryToolResultReducer } from "../../src/conversation/reducers/tool-result-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { pipeReducers } from "../../src/conversation/reducers/pipe-reducers.js";
import type { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import { simulateReducers } from "../../cli/simulation/simulate-reducers.js";
import type { TokenCounter } from "../../src/conversation/tokens/counted-messages.js";
import { orderlyConversation } from "../support/conversations.js";
import { ai, human, system } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";

/** One token a character, and three for each request. */
const characters: TokenCounter = {
  id: "characters",
  perRequest: 3,
  countMessage: ({ text }) => text.length,
  countText: (text) => text.length,
};
const tokenCounter = characters;

describe("simulateReducers", () => {
  it("sends everything, and has it cached from the second request on, where nothing is cut", async () => {
    const conversation = [system("ssss"), human("qq"), ai("aaa"), human("q"), ai("a")];
    const [result] = await simulateReducers([conversation], [{ name: "never cut" }], { tokenCounter });
    expect(result).toEqual({
      reducer: "never cut",
      requests: 2,
      sent: 4 + 2 + 3 + (4 + 2 + 3 + 1 + 3),
      cached: 6,
      billed: 9 + 13 - 6 + 0.6,
      billedUncached: 9 + 13,
      reductions: 0,
      prefixBreaks: 0,
      questionsSeen: 1,
      toolResultsSeen: 1,
    });
  });

  it("says what a cut costs: the cached beginning, and what the model no longer sees", async () => {
    const conversation = [human("q1"), ai("a1"), human("q2"), ai("a2"), human("q3"), ai("a3")];
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 1 });
    const [result] = await simulateReducers([conversation], [{ name: "one", reducer }], {
      tokenCounter,
      prices: { input: 2, cached: 1 },
    });
    // Each request holds the newest question only: of 1, 2 and 3 questions the model sees one.
    expect(result).toMatchObject({
      reducer: "one",
      ...{ requests: 3, sent: 15, cached: 0, billed: 30, reductions: 2, prefixBreaks: 2, questionsSeen: 3 / 6 },
      billedUncached: 30,
    });
  });

  it("pays for a summary with the messages that it replaces, and does not take it for a question", async () => {
    const conversation = [1, 2, 3, 4].flatMap((n) => [human(`question ${n}`), ai(`answer ${n}`)]);
    const model = RunnableLambda.from(() => "short");
    const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 2, thresholdCount: 1 });
    const [result] = await simulateReducers([conversation], [{ name: "one", reducer }], { tokenCounter });
    expect(result!.reductions).toBeGreaterThan(0);
    expect(result!.questionsSeen).toBeLessThan(1);
    const views = await replay(conversation, reducer);
    expect(result!.sent).toBeGreaterThan(views.sent);
  });

  it("takes functions and trimmers", async () => {
    const lastOne = (messages: BaseMessage[]) => (messages.length > 1 ? messages.slice(-1) : null);
    const trimmer = RunnableLambda.from((messages: BaseMessage[]) => messages.slice(-2));
    const results = await simulateReducers(
      [[human("q"), ai("a"), human("r"), ai("b")]],
      [
        { name: "one", reducer: lastOne },
        { name: "two", reducer: trimmer },
        { name: "three", reducer: pipeReducers(new ChatHistoryTruncationReducer({ targetCount: 3 })) },
      ],
      { tokenCounter },
    );
    expect(results.map(({ reducer }) => reducer)).toEqual(["one", "two", "three"]);
    expect(results.map(({ questionsSeen }) => questionsSeen)).toEqual([2 / 3, 2 / 3, 1]);
  });

  it("answers a conversation without requests with zeros and full shares", async () => {
    const results = await simulateReducers([[], [human("q")]], [{ name: "none" }], { tokenCounter });
    expect(results).toEqual([
      {
        ...{ reducer: "none", requests: 0, sent: 0, cached: 0, billed: 0, reductions: 0, prefixBreaks: 0 },
        ...{ billedUncached: 0, questionsSeen: 1, toolResultsSeen: 1 },
      },
    ]);
  });

  it("agrees with a plain replay of every request, for any conversation and reducer", async () => {
    const reducers: (() => ChatHistoryReducer)[] = [
      () => new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 3 }),
      () => new ChatHistoryTokenReducer({ maxTokens: 120, targetTokens: 80, tokenCounter }),
      () => new ChatHistoryToolResultReducer({ keepLast: 1, maxCharacters: 20 }),
    ];
    await fc.assert(
      fc.asyncProperty(orderlyConversation(), fc.constantFrom(...reducers), async (conversation, reducer) => {
        const [result] = await simulateReducers([conversation], [{ name: "any", reducer: reducer() }], {
          tokenCounter,
        });
        expect(result).toMatchObject(await replay(conversation, reducer()));
      }),
      { numRuns: propertyRuns(50) },
    );
  });
});

/** The same, made anew for every request. */
async function replay(conversation: readonly BaseMessage[], reducer: ChatHistoryReducer) {
  const count = (messages: readonly BaseMessage[]) => messages.reduce((sum, { text }) => sum + text.length, 0);
  const totals = { requests: 0, sent: 0, cached: 0, reductions: 0, prefixBreaks: 0 };
  const [seen, said] = [
    { human: 0, tool: 0 },
    { human: 0, tool: 0 },
  ];
  let [view, last]: [BaseMessage[], BaseMessage[] | undefined] = [[], undefined];
  for (const [index, message] of conversation.entries()) {
    if (message.getType() === "ai") {
      const reduced = await reducer.reduce([...view]);
      view = reduced ?? view;
      totals.reductions += reduced === null ? 0 : 1;
      const before = last ?? [];
      const changed = before.findIndex((one, place) => one !== view[place]);
      const same = changed < 0 ? before : before.slice(0, changed);
      totals.requests += 1;
      totals.sent += count(view) + 3;
      totals.cached += count(same);
      totals.prefixBreaks += same.length < before.length ? 1 : 0;
      for (const type of ["human", "tool"] as const) {
        const all = conversation.slice(0, index).filter((one) => one.getType() === type);
        said[type] += all.length;
        seen[type] += all.filter((one) => view.includes(one)).length;
      }
      last = [...view];
    }
    view = [...view, message];
  }
  const share = (type: "human" | "tool") => (said[type] === 0 ? 1 : seen[type] / said[type]);
  return { ...totals, questionsSeen: share("human"), toolResultsSeen: share("tool") };
}
