import type { BaseMessage } from "@langchain/core/messages";
import { cutByCount, type CountTarget, type NoCut } from "../../messages/cut-by-count.js";
import type { Sections } from "../../messages/sections.js";
import type { ViewLimit } from "../view-limit.js";
import { countMessages, countTotal } from "../../tokens/counted-messages.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { clipToBudget, cutToBudget, type TokenBudget } from "../token-budget.js";

/** A summary to check, with the messages before and after the reduction. */
export interface JudgedSummary {
  readonly before: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
  readonly summary: BaseMessage;
  /** The text that it replaces. */
  readonly source: string;
}

/** How a summarization reducer measures: in messages or in tokens. */
export interface SummaryMeasure {
  readonly viewLimit: ViewLimit;
  /** Undefined if tokens do not matter. */
  readonly tokenCounter: TokenCounter | undefined;
  /** Returns the indexes of what stays beside a new summary; `replaced` holds the summaries that it will replace. */
  cut(
    messages: readonly BaseMessage[],
    sections: Sections,
    replaced: readonly BaseMessage[],
  ): Promise<number[] | NoCut>;
  /** Returns the messages, clipped if the measure requires it. */
  fit(messages: readonly BaseMessage[]): Promise<BaseMessage[]>;
  overBudgetBy(messages: readonly BaseMessage[]): Promise<number>;
  isTooLong(judged: JudgedSummary): Promise<boolean>;
}

/** A few sentences are never too long, however short the text that they replace. */
const alwaysAllowedCharacters = 1_000;

/** The share of the target that is reserved for a first summary. */
const summaryShare = 1 / 8;

/** Creates the measure for `targetCount` and `thresholdCount`. */
export function countMeasure(target: CountTarget): SummaryMeasure {
  return {
    viewLimit: { messages: target.target + target.threshold },
    tokenCounter: undefined,
    cut: async (messages, sections) => {
      const indexes = cutByCount(messages, sections, target);
      // The summary is a message too, so it must replace more than one.
      return typeof indexes === "string" || indexes.length + 1 < messages.length ? indexes : "nothing_removable";
    },
    fit: async (messages) => [...messages],
    overBudgetBy: async () => 0,
    isTooLong: async ({ before, after, summary, source }) =>
      after.length >= before.length || summary.text.length > Math.max(alwaysAllowedCharacters, source.length),
  };
}

/** Creates the measure for `maxTokens` and `targetTokens`. */
export function tokenMeasure(budget: TokenBudget): SummaryMeasure {
  const { counter, maxTokens, targetTokens } = budget;
  return {
    get viewLimit() {
      return { tokens: Math.max(0, maxTokens - counter.perRequest) };
    },
    tokenCounter: counter,
    cut: async (messages, sections, replaced) => {
      const expected = await countTotal(counter, replaced);
      return cutToBudget(messages, {
        sections,
        budget,
        reserve: Math.max(expected, Math.floor(targetTokens * summaryShare)),
      });
    },
    fit: (messages) => clipToBudget(messages, budget),
    overBudgetBy: async (messages) => Math.max(0, (await countMessages(counter, messages)) - maxTokens),
    isTooLong: async ({ before, after, summary }) => {
      const size = await countMessages(counter, after);
      const own = await countTotal(counter, [summary]);
      return size >= (await countMessages(counter, before)) || (size > maxTokens && size - own <= maxTokens);
    },
  };
}
