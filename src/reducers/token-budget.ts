import type { BaseMessage } from "@langchain/core/messages";
import { cutByTokens } from "../conversation/cut-by-tokens.js";
import type { NoCut } from "../conversation/cut-by-count.js";
import { roleOf } from "../messages/roles.js";
import type { Sections } from "../conversation/sections.js";
import { findBoundaries } from "../conversation/steps.js";
import { ConfigurationError } from "../errors.js";
import { lazy, objectWith, positiveInteger } from "../options.js";
import { countEach } from "../tokens/counted-messages.js";
import { tiktokenCounter } from "../tokens/counters/tiktoken-counter.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { clipToolResults } from "./clip-tool-results.js";

/** Options of reducers that measure in tokens. */
export interface TokenBudgetOptions {
  /** Tokens that a request may have, the counter's `perRequest` included. At least 1. Leave room for the answer. */
  readonly maxTokens: number;
  /**
   * Tokens to come down to when the maximum is exceeded, from 1 to `maxTokens`. The gap between the two is what the
   * conversation can grow before it is cut again; over that time the prompt's beginning, and with it the provider's
   * prompt cache, stays the same. @default 75 % of maxTokens
   */
  readonly targetTokens?: number;
  /** @default tiktokenCounter() */
  readonly tokenCounter?: TokenCounter;
}

/** A budget as reducers use it. */
export interface TokenBudget {
  readonly maxTokens: number;
  readonly targetTokens: number;
  readonly counter: TokenCounter;
}

/** Schema fields of {@link TokenBudgetOptions}. */
export const budgetFields = lazy(() => ({
  maxTokens: positiveInteger,
  targetTokens: positiveInteger.optional(),
  tokenCounter: objectWith<TokenCounter>(["countMessage", "countText"], "a TokenCounter")
    .refine(
      ({ id, perRequest }) => typeof id === "string" && perRequest >= 0 && perRequest < Infinity,
      'must have an "id" and a "perRequest" of 0 or more',
    )
    .optional(),
}));

/**
 * The budget that the options mean.
 *
 * @throws ConfigurationError if the target exceeds the maximum.
 */
export function budgetOf(owner: string, { maxTokens, targetTokens, tokenCounter }: TokenBudgetOptions): TokenBudget {
  if (targetTokens !== undefined && targetTokens > maxTokens) {
    throw new ConfigurationError(
      "targetTokens",
      `${owner}: option "targetTokens" must not exceed "maxTokens" (${maxTokens}); got ${targetTokens}.`,
    );
  }
  return {
    maxTokens,
    targetTokens: targetTokens ?? Math.max(1, Math.floor(maxTokens * 0.75)),
    counter: tokenCounter ?? tiktokenCounter(),
  };
}

/** Tokens of a request that holds these messages. */
export async function requestTokens({ counter }: TokenBudget, messages: readonly BaseMessage[]): Promise<number> {
  const tokens = await countEach(counter, messages);
  return tokens.reduce((total, count) => total + count, counter.perRequest);
}

/** Indexes of what stays when messages are cut to a budget; a `reserve` is left for a message that is still to come. */
export async function cutToBudget(
  messages: readonly BaseMessage[],
  {
    sections,
    budget,
    reserve,
  }: { readonly sections: Sections; readonly budget: TokenBudget; readonly reserve?: number },
): Promise<number[] | NoCut> {
  const { counter, maxTokens, targetTokens } = budget;
  const tokens = await countEach(counter, messages);
  return cutByTokens(messages, sections, {
    tokens,
    perRequest: counter.perRequest,
    maxTokens,
    targetTokens,
    ...(reserve !== undefined && { reserve }),
  });
}

/**
 * The messages with the tool results of their newest step clipped as far as a budget asks for it; messages that are
 * `pinned` are left alone.
 */
export async function clipToBudget(
  messages: readonly BaseMessage[],
  { budget, pinned = new Set() }: { readonly budget: TokenBudget; readonly pinned?: ReadonlySet<BaseMessage> },
): Promise<BaseMessage[]> {
  const excess = (await requestTokens(budget, messages)) - budget.maxTokens;
  if (excess <= 0) {
    return [...messages];
  }
  const rest = [...messages.keys()].filter(
    (index) => !["system", "summary"].includes(roleOf(messages[index]!)) && !pinned.has(messages[index]!),
  );
  const newestStep = findBoundaries(rest.map((index) => messages[index]!)).lastIndexOf(1, rest.length - 1);
  const indexes = rest.slice(Math.max(0, newestStep)).filter((index) => roleOf(messages[index]!) === "tool");
  return clipToolResults(messages, { indexes, excess, counter: budget.counter });
}
