import { trimMessages, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import {
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  ChatHistoryTruncationReducer,
  pipeReducers,
  type TokenCounter,
} from "langchain-redis-memory";
import { tokensOf, type Policy } from "../measure/bill.js";

/** What the reducers take where no target is given, in percent of the maximum. */
export const defaultTarget = 80;
/** Length of a summary, since no model is called. */
export const summaryTokens = 150;
/** LangChain's own way. */
export const trimmedName = "trimMessages at each call";

/** Nothing is cut. */
export const neverCut = "never cut";
/** The name of the token reducer with this target. */
export const tokenName = (target: number) =>
  `token reducer, target ${target} %${target === defaultTarget ? " (default)" : ""}`;

/** All policies that are compared. */
export function policiesFor(targets: readonly number[], counter: TokenCounter): Policy[] {
  const some = targets.filter((target) => [50, defaultTarget, 100].includes(target));
  const budget = (maxTokens: number, target: number) => ({
    maxTokens,
    targetTokens: Math.max(1, Math.floor((maxTokens * target) / 100)),
    tokenCounter: counter,
  });
  const model = RunnableLambda.from(() => "word ".repeat(summaryTokens).trim());
  return [
    { name: neverCut, reducerFor: () => undefined },
    { name: trimmedName, reducerFor: (maxTokens) => trimmer(maxTokens, counter) },
    ...targets.map((target) => ({
      name: tokenName(target),
      reducerFor: (maxTokens: number) => new ChatHistoryTokenReducer(budget(maxTokens, target)),
    })),
    ...some.map((target) => ({
      name: `tool results (keepLast 3), then token reducer, target ${target} %`,
      reducerFor: (maxTokens: number) =>
        pipeReducers(
          new ChatHistoryToolResultReducer({ keepLast: 3 }),
          new ChatHistoryTokenReducer(budget(maxTokens, target)),
        ),
    })),
    ...some.map((target) => ({
      name: `summaries, target ${target} %`,
      reducerFor: (maxTokens: number) =>
        new ChatHistorySummarizationReducer({ model, failOnError: false, ...budget(maxTokens, target) }),
    })),
    ...[0, 6, 12].map((thresholdCount) => ({
      name: `last 12 messages, threshold ${thresholdCount}`,
      reducerFor: () => new ChatHistoryTruncationReducer({ targetCount: 12, thresholdCount }),
    })),
  ];
}

/** LangChain's own way: from all messages, at each call. */
export function trimmer(maxTokens: number, counter: TokenCounter) {
  const counts = new WeakMap<BaseMessage, number>();
  const count = async (message: BaseMessage) => {
    const known = counts.get(message) ?? (await tokensOf([message], counter));
    counts.set(message, known);
    return known;
  };
  return async (messages: BaseMessage[]) => {
    const trimmed = await trimMessages(messages, {
      maxTokens,
      strategy: "last",
      includeSystem: true,
      startOn: "human",
      tokenCounter: async (list: BaseMessage[]) =>
        (await Promise.all(list.map(count))).reduce((sum, tokens) => sum + tokens, counter.perRequest),
    });
    // Where no message but a system message would be left, it comes back as undefined.
    return trimmed.filter((message) => message !== undefined);
  };
}
