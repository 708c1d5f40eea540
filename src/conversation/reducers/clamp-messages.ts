import type { BaseMessage } from "@langchain/core/messages";
import { BudgetError } from "../../base/errors.js";
import { graphemeBoundary, keepFirstUnits } from "../../base/graphemes.js";
import { editMessage } from "../messages/copies/edit-message.js";
import { roleOf } from "../messages/roles.js";
import { isRecord } from "../messages/values.js";
import { countMessages, countOf } from "../tokens/counted-messages.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { asShortened } from "./reduction-outcome.js";

/** The limits for messages that must stay. */
export interface ClampRequest {
  /** Tokens of a message from which on it is clamped. */
  readonly maxMessageTokens: number;
  readonly maxTokens: number;
  readonly counter: TokenCounter;
  /** Messages to leave alone. */
  readonly pinned: ReadonlySet<BaseMessage>;
}

/** Characters of a text from which on a marker in its place would not be shorter. */
const smallestText = 60;
/** Share of the kept characters that is its beginning: the end of an answer often says what it comes to. */
const headShare = 0.6;

/**
 * Clamps answers that are too large, the oldest first, until the messages fit: their text and the texts in the
 * arguments of their calls keep beginning and end. A clamped answer is a new message with the same id, and never
 * larger.
 *
 * @throws BudgetError if they do not fit and the newest question is too large: nobody's question is rewritten.
 */
export async function clampMessages(
  messages: readonly BaseMessage[],
  { maxMessageTokens, maxTokens, counter, pinned }: ClampRequest,
): Promise<readonly BaseMessage[]> {
  let excess = (await countMessages(counter, messages)) - maxTokens;
  if (excess <= 0) {
    return messages;
  }
  const question = messages.findLast((message) => roleOf(message) === "human");
  const needed = question === undefined ? 0 : await countOf(counter, question);
  if (needed > maxMessageTokens) {
    throw new BudgetError(
      `The newest question takes ${needed} tokens, but "maxMessageTokens" allows ${maxMessageTokens}; ` +
        "ask for a shorter one, or raise it.",
      { needed, allowed: maxMessageTokens },
    );
  }
  const result = [...messages];
  for (const [index, message] of messages.entries()) {
    const tokens = await countOf(counter, message);
    if (excess > 0 && tokens > maxMessageTokens && roleOf(message) === "ai" && !pinned.has(message)) {
      const clamped = await clampAnswer(message, { allowed: maxMessageTokens, tokens, counter });
      excess -= tokens - (await countOf(counter, clamped));
      result[index] = clamped;
    }
  }
  return result;
}

/** The answer with shorter texts, so that it takes `allowed` tokens if it can; itself if nothing makes it smaller. */
async function clampAnswer(
  message: BaseMessage,
  { allowed, tokens, counter }: { readonly allowed: number; readonly tokens: number; readonly counter: TokenCounter },
): Promise<BaseMessage> {
  let [best, fewest, limit] = [message, tokens, longestText(message)];
  while (fewest > allowed && limit > smallestText) {
    limit = Math.max(smallestText, Math.floor(Math.min(limit / 2, (limit * allowed) / fewest)));
    const clamped = editMessage(message, {
      text: (text) => clampText(text, limit),
      calls: ({ args }) => ({ args: clampValue(args, limit) as string | Record<string, unknown> }),
    });
    const size = await countOf(counter, clamped);
    [best, fewest] = size < fewest ? [clamped, size] : [best, fewest];
  }
  return asShortened(best, message);
}

function longestText(message: BaseMessage): number {
  const { tool_calls: calls, invalid_tool_calls: invalid } = message as unknown as Record<string, unknown>;
  return Math.max(message.text.length, lengthIn(calls), lengthIn(invalid));
}

function lengthIn(value: unknown): number {
  if (typeof value === "string") {
    return value.length;
  }
  const parts = Array.isArray(value) ? (value as unknown[]) : isRecord(value) ? Object.values(value) : [];
  return parts.reduce<number>((longest, part) => Math.max(longest, lengthIn(part)), 0);
}

/** The value with each text in it clamped. */
function clampValue(value: unknown, limit: number): unknown {
  if (typeof value === "string") {
    return clampText(value, limit);
  }
  if (Array.isArray(value)) {
    return value.map((part: unknown) => clampValue(part, limit));
  }
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, clampValue(part, limit)]))
    : value;
}

/** Beginning and end of a text, with a marker between them; the text itself unless that is shorter. */
function clampText(text: string, limit: number): string {
  if (text.length <= limit) {
    return text;
  }
  const head = keepFirstUnits(text, Math.floor(headShare * limit));
  const tail = text.slice(graphemeBoundary(text, text.length - Math.floor((1 - headShare) * limit)));
  const clamped = `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
  return clamped.length < text.length ? clamped : text;
}
