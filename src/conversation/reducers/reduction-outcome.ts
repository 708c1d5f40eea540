import { type BaseMessage, type MessageContent, ToolMessage } from "@langchain/core/messages";
import type { SummaryError } from "../../base/errors.js";
import type { ViewSize } from "../../base/events.js";
import type { NoCut } from "../messages/cut-by-count.js";
import { countMessages } from "../tokens/counted-messages.js";
import type { TokenCounter } from "../tokens/token-counter.js";

/**
 * How a reduction ended.
 *
 * - `reduced`: the messages are fewer or smaller than before.
 * - `within_limit`: there was nothing to do.
 * - `nothing_removable`: the limit is exceeded, but no message can go without splitting a step or losing one that must
 *   stay.
 * - `summary_failed`: no summary could be written and `failOnError` is off; `error` says why.
 */
export type ReductionReason = "reduced" | "within_limit" | "nothing_removable" | "summary_failed";

/**
 * The result of a reduction.
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { ChatHistoryTruncationReducer } from "langchain-redis-memory";
 *
 * const messages = Array.from({ length: 20 }, (_, turn) => new HumanMessage(`Question ${turn}`));
 * const outcome = await new ChatHistoryTruncationReducer({ targetCount: 10 }).reduceWithOutcome(messages);
 * console.log(outcome.reason, outcome.removed.length, outcome.after.messages); // reduced 10 10
 */
export interface ReductionOutcome {
  /** The reduced messages in a fresh array; the input's own objects, except for messages that had to change. */
  readonly messages: BaseMessage[];
  /** True if `messages` differ from the input. */
  readonly changed: boolean;
  /** How the reduction ended. */
  readonly reason: ReductionReason;
  /** The input's messages that are not in the result, in order; without messages that only became shorter. */
  readonly removed: BaseMessage[];
  /** The summary that this reduction wrote. */
  readonly summary?: BaseMessage;
  /** With `summary_failed`: why there is no summary. */
  readonly error?: SummaryError;
  /** The input's size. */
  readonly before: ViewSize;
  /** The result's size. */
  readonly after: ViewSize;
  /** Tokens by which the result still exceeds the maximum; 0 if it fits or there is no maximum. */
  readonly overBudgetBy: number;
}

/** Creates the outcome of a reduction that changed nothing. */
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
    messages: [...messages],
    changed: false,
    reason,
    removed: [],
    before: size,
    after: size,
    overBudgetBy,
    ...(error && { error }),
  };
}

/** Creates the outcome of a reduction that made the messages fewer or smaller; within its budget by default. */
export function reduced(
  messages: readonly BaseMessage[],
  details: Pick<ReductionOutcome, "removed" | "before" | "after"> &
    Partial<Pick<ReductionOutcome, "overBudgetBy" | "summary" | "error">>,
): ReductionOutcome {
  return { messages: [...messages], changed: true, reason: "reduced", overBudgetBy: 0, ...details };
}

/** The outcome of a cut that keeps the messages at these indexes. */
export function cutOutcome(messages: readonly BaseMessage[], indexes: readonly number[] | NoCut): ReductionOutcome {
  if (typeof indexes === "string") {
    return unchanged(messages, { reason: indexes });
  }
  const stays = new Set(indexes);
  return reduced(
    indexes.map((index) => messages[index]!),
    {
      removed: messages.filter((_, index) => !stays.has(index)),
      before: { messages: messages.length },
      after: { messages: indexes.length },
    },
  );
}

/** Returns the messages of `before` that are not in `after`: not unchanged, not shortened, and not by id. */
export function removedMessages(before: readonly BaseMessage[], after: readonly BaseMessage[]): BaseMessage[] {
  const identities = new Set<unknown>(after.flatMap((message) => [originalOf(message), message.id]));
  return before.filter(
    (message) => !identities.has(originalOf(message)) && (message.id === undefined || !identities.has(message.id)),
  );
}

/** Measures a list of messages; counts tokens if there is a counter. */
export async function viewSize(messages: readonly BaseMessage[], counter: TokenCounter | undefined): Promise<ViewSize> {
  const size = { messages: messages.length };
  return counter === undefined ? size : { ...size, tokens: await countMessages(counter, messages) };
}

/** From a shortened message to the original. */
const originals = new WeakMap<BaseMessage, BaseMessage>();

/** Copies a tool message with shorter content; all else stays, including the id. It does not count as removed. */
export function withShorterContent(message: ToolMessage, content: MessageContent): ToolMessage {
  const { tool_call_id, name, id, status, artifact, metadata, additional_kwargs, response_metadata } = message;
  const fields = { tool_call_id, name, id, status, artifact, metadata, additional_kwargs, response_metadata };
  return asShortened(new ToolMessage({ ...fields, content }), message);
}

/** The shorter copy of a message; it does not count as removed. */
function asShortened<M extends BaseMessage>(copy: M, message: BaseMessage): M {
  if (copy !== message) {
    originals.set(copy, originalOf(message));
  }
  return copy;
}

/** The message that a shorter copy was made of; any other message itself. */
export function originalOf(message: BaseMessage): BaseMessage {
  return originals.get(message) ?? message;
}
