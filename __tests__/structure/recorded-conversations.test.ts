import type { BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { repairConversation } from "../../src/conversation/structure/repair-conversation.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import type { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { ChatHistoryToolResultReducer } from "../../src/conversation/reducers/tool-result-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { approximateCounter } from "../../src/conversation/tokens/counters/approximate-counter.js";
import { refusalOf } from "../support/openai-wire.js";
import { realConversations } from "../support/real-conversations.js";

describe("real conversations", () => {
  const all = realConversations();

  it("have no errors as they are, for LangChain and for OpenAI's service", () => {
    const errors = all.flatMap((messages) =>
      validateConversation(messages).filter(({ severity }) => severity === "error"),
    );
    const refusals = all.filter(endsAnswered).map((messages) => refusalOf(messages));
    expect(errors).toEqual([]);
    expect(refusals.filter((refusal) => refusal !== undefined)).toEqual([]);
  });

  it.each([1, 5, 13])(
    "cut to their last %i messages wherever they end, and repaired, are accepted by the service",
    (target) => {
      let cuts = 0;
      let repaired = 0;
      for (const messages of all) {
        for (const end of endsOf(messages)) {
          const result = repairConversation(messages.slice(Math.max(0, end - target), end), {
            profile: "openai",
            purpose: "model-input",
          });
          cuts += 1;
          repaired += result.repairs.length > 0 ? 1 : 0;
          const refusal = result.messages.length === 0 ? undefined : refusalOf(result.messages);
          if (refusal !== undefined) {
            throw new Error(`cut ${end - target} to ${end}: ${refusal.message}`);
          }
        }
      }
      expect(repaired).toBeGreaterThan(0);
      expect(repaired).toBeLessThan(cuts);
    },
  );
});

const tokenCounter = approximateCounter();

const reducers: readonly [string, ChatHistoryReducer][] = [
  ...[1, 6, 12].map((targetCount): [string, ChatHistoryReducer] => [
    `truncation to ${targetCount}`,
    new ChatHistoryTruncationReducer({ targetCount }),
  ]),
  ["truncation to 4 beyond 10", new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 6 })],
  ...[400, 2400].map((maxTokens): [string, ChatHistoryReducer] => [
    `tokens within ${maxTokens}`,
    new ChatHistoryTokenReducer({ maxTokens, tokenCounter }),
  ]),
  [
    "a summary beyond 4",
    new ChatHistorySummarizationReducer({
      model: new FakeListChatModel({ responses: ["the story so far"] }),
      targetCount: 4,
    }),
  ],
  ["short tool results", new ChatHistoryToolResultReducer({ keepLast: 1, maxCharacters: 40 })],
];

describe("real conversations, reduced wherever they end,", () => {
  const all = realConversations();

  it.each(reducers)("are accepted by the service without a repair: %s", async (_, reducer) => {
    let reduced = 0;
    const refused: unknown[] = [];
    for (const messages of all) {
      for (const end of endsOf(messages)) {
        const prefix = messages.slice(0, end);
        const result = await reducer.invoke(prefix);
        reduced +=
          result.length === prefix.length && result.every((message, index) => message === prefix[index]) ? 0 : 1;
        const refusal = endsAnswered(prefix) ? refusalOf(result) : undefined;
        refused.push(
          ...validateConversation(result).filter(({ severity }) => severity === "error"),
          ...(refusal === undefined ? [] : [refusal]),
        );
      }
    }
    expect(refused).toEqual([]);
    expect(reduced).toBeGreaterThan(0);
  });
});

/** Where a conversation may end: behind each message, and of a long one at forty places. */
function endsOf({ length }: readonly BaseMessage[]): number[] {
  const step = Math.ceil(length / 40);
  return Array.from({ length: Math.ceil(length / step) }, (_, index) => length - index * step);
}

/** False while a call at the end waits for its result: no model is called then. */
function endsAnswered(messages: readonly BaseMessage[]): boolean {
  return validateConversation(messages, { purpose: "model-input" }).every(({ rule }) => rule !== "S30");
}
