import type { BaseMessage } from "@langchain/core/messages";
import type { SummaryError } from "../errors.js";
import { countEach } from "../tokens/counted-messages.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { originOf } from "./tool-message.js";

/** The size of a list of messages; tokens where the reducer counts them, with the counter's cost per request. */
export interface ViewSize {
  readonly messages: number;
  readonly tokens?: number;
}

/**
 * Why a reduction ended as it did.
 *
 * - `reduced`: the messages are fewer or smaller than before.
 * - `within_limit`: there was nothing to do.
 * - `nothing_removable`: the limit is exceeded, but nothing can go without splitting a step or losing what must stay.
 * - `summary_failed`: the summary could not be made, and `failOnError` is off; `error` says why.
 */
export type ReductionReason = "reduced" | "within_limit" | "nothing_removable" | "summary_failed";

/** What a reduction did. */
export interface ReductionOutcome {
  /**
   * The reduced messages; the input's own where `changed` is false. A fresh array of the input's own objects but for
   * those that had to change.
   */
  readonly messages: BaseMessage[];
  readonly changed: boolean;
  readonly reason: ReductionReason;
  /**
   * Messages of the input that are not in the result, in their order. A message that only became smaller is not among
   * them.
   */
  readonly removed: BaseMessage[];
  /** The summary that this reduction made. */
  readonly summary?: BaseMessage;
  /** Why there is no summary, with `summary_failed`. */
  readonly error?: SummaryError;
  readonly before: ViewSize;
  readonly after: ViewSize;
  /** Tokens by which the result still exceeds the maximum; 0 where it fits or there is none. */
  readonly overBudgetBy: number;
}

/** The outcome of a reduction that left everything as it was. */
export function unchanged(
  messages: readonly BaseMessage[],
  details: {
    readonly reason: Exclude<ReductionReason, "reduced">;
    readonly tokens?: number;
    readonly overBudgetBy?: number;
    readonly error?: SummaryError;
  },
): ReductionOutcome {
  const { reason, tokens, overBudgetBy = 0, error } = details;
  const size: ViewSize = { messages: messages.length, ...(tokens !== undefined && { tokens }) };
  return {
    ...{ messages: [...messages], changed: false, reason, removed: [], before: size, after: size, overBudgetBy },
    ...(error && { error }),
  };
}

/** Messages of `before` that are not in `after`: neither as they are, nor shortened, nor under the same id. */
export function removedMessages(before: readonly BaseMessage[], after: readonly BaseMessage[]): BaseMessage[] {
  const kept = new Set<unknown>(after.flatMap((message) => [originOf(message), message.id]));
  return before.filter(
    (message) => !kept.has(originOf(message)) && (message.id === undefined || !kept.has(message.id)),
  );
}

/** The size of a list of messages, with tokens where there is a counter. */
export async function viewSize(messages: readonly BaseMessage[], counter: TokenCounter | undefined): Promise<ViewSize> {
  if (counter === undefined) {
    return { messages: messages.length };
  }
  const tokens = await countEach(counter, messages);
  return { messages: messages.length, tokens: tokens.reduce((total, count) => total + count, counter.perRequest) };
}
