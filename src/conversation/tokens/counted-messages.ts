import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { setImmediate } from "node:timers";
import { lazy, objectWith } from "../../base/options.js";
import { ConfigurationError } from "../../base/errors.js";

/**
 * Counts tokens the way one model family does.
 *
 * `id` names the encoding and its version: counts are stored with each message under it, and a count under another id
 * is not used. A message's count must depend on that message alone.
 */
export interface TokenCounter {
  /** Names the encoding and its version; not empty. */
  readonly id: string;
  /** Tokens that a request costs once, whatever it holds (the priming of the reply, tool schemas). */
  readonly perRequest: number;
  /** Tokens of one message, its role, name and tool calls included. */
  countMessage(message: BaseMessage): number | Promise<number>;
  /** Tokens of bare text. */
  countText(text: string): number | Promise<number>;
}

/** Schema field of an option that takes a counter. */
export const counterField = lazy(() =>
  z.optional(
    objectWith<TokenCounter>(["countMessage", "countText"], "a TokenCounter").check(
      z.refine(
        ({ id, perRequest }) => typeof id === "string" && perRequest >= 0 && perRequest < Infinity,
        'must have an "id" and a "perRequest" of 0 or more',
      ),
    ),
  ),
);

/** Time after which a long count lets other work run. */
const breathMs = 20;

// Held weakly: a count lives as long as its message. Messages are taken not to change once counted.
const counts = new WeakMap<BaseMessage, Map<string, number | Promise<number>>>();

/** Remembers a count that is known already, such as one that was stored with the message. */
export function rememberTokens(message: BaseMessage, counterId: string, tokens: number | Promise<number>): void {
  let byCounter = counts.get(message);
  if (byCounter === undefined) {
    byCounter = new Map();
    counts.set(message, byCounter);
  }
  byCounter.set(counterId, tokens);
}

/** The remembered count of a message; does not ask a counter. */
export function knownCount(message: BaseMessage, counterId: string): number | Promise<number> | undefined {
  return counts.get(message)?.get(counterId);
}

/**
 * Tokens of a message; the counter is asked once per message object, whatever the number of callers.
 *
 * @throws ConfigurationError if the counter returns something other than a count: a reduction based on it would remove
 *   the wrong messages.
 */
export function countOf(counter: TokenCounter, message: BaseMessage): number | Promise<number> {
  const known = knownCount(message, counter.id);
  if (known !== undefined) {
    return known;
  }
  const tokens = counter.countMessage(message);
  if (typeof (tokens as Partial<Promise<number>> | undefined)?.then !== "function") {
    const count = checked(counter, tokens as number);
    rememberTokens(message, counter.id, count);
    return count;
  }
  const counting = Promise.resolve(tokens).then((count) => checked(counter, count));
  rememberTokens(message, counter.id, counting);
  counting.then(
    (count) => rememberTokens(message, counter.id, count),
    () => counts.get(message)?.delete(counter.id),
  );
  return counting;
}

function checked(counter: TokenCounter, tokens: number): number {
  if (typeof tokens === "number" && tokens >= 0 && tokens < Infinity) {
    return tokens;
  }
  throw new ConfigurationError(
    "tokenCounter",
    `The token counter "${counter.id}" returned ${String(tokens)} for a message; it must return a number of 0 or more.`,
  );
}

/** Tokens of each message, in order, as {@link countOf} counts them. Lets the event loop run in between. */
export async function countEach(counter: TokenCounter, messages: readonly BaseMessage[]): Promise<number[]> {
  const breathe = breather();
  const result: number[] = [];
  for (const message of messages) {
    const tokens = countOf(counter, message);
    result.push(typeof tokens === "number" ? tokens : await tokens);
    const pause = breathe();
    if (pause !== undefined) {
      await pause;
    }
  }
  return result;
}

/** Tokens of all messages together, as {@link countOf} counts them, without what a request costs besides. */
export async function countTotal(counter: TokenCounter, messages: readonly BaseMessage[]): Promise<number> {
  const tokens = await countEach(counter, messages);
  return tokens.reduce((total, count) => total + count, 0);
}

/**
 * Tokens of a request that carries these messages: each message's own, counted once per message object, and once the
 * counter's `perRequest`.
 *
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { countMessages, tiktokenCounter } from "langchain-redis-memory";
 *
 * const tokens = await countMessages(tiktokenCounter(), [new HumanMessage("Hi")]);
 */
export async function countMessages(counter: TokenCounter, messages: readonly BaseMessage[]): Promise<number> {
  const tokens = await countTotal(counter, messages);
  // Read last, because a counter may know it exactly only after its first count.
  return tokens + counter.perRequest;
}

/** A function to await inside long work: lets other work run if 20 milliseconds have passed since the last time. */
export function breather(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < breathMs) {
      return undefined;
    }
    return new Promise((resolve) => setImmediate(resolve)).then(() => {
      since = performance.now();
    });
  };
}
