import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import { lazy, positiveInteger } from "../../base/options.js";
import { cutByTokens } from "../messages/cut-by-tokens.js";
import type { NoCut } from "../messages/cut-by-count.js";
import { roleOf } from "../messages/roles.js";
import type { Sections } from "../messages/sections.js";
import { findBoundaries } from "../messages/steps.js";
import { countEach, countMessages } from "../tokens/counted-messages.js";
import { tiktokenCounter } from "../tokens/counters/tiktoken-counter.js";
import { counterField, type TokenCounter } from "../tokens/token-counter.js";
import { clipToolResults } from "./clip-tool-results.js";

/** Options of reducers that measure in tokens. */
export interface TokenBudgetOptions {
  /** Maximum tokens of a request, including the counter's `perRequest`. At least 1. Leave room for the answer. */
  readonly maxTokens: number;
  /**
   * Tokens to reduce to when the maximum is exceeded, from 1 to `maxTokens`. Until the conversation has grown by the
   * difference, the beginning of the prompt stays the same, so that the provider's prompt cache works.
   * @default 80 % of maxTokens
   */
  readonly targetTokens?: number;
  /** Counts tokens. @default tiktokenCounter() */
  readonly tokenCounter?: TokenCounter;
}

/** A token budget with its defaults resolved. */
export interface TokenBudget {
  readonly maxTokens: number;
  readonly targetTokens: number;
  readonly counter: TokenCounter;
}

/** The knee of the measured curve: above it the price of what the model sees more grows faster than that. */
const defaultTargetShare = 0.8;

/** Schema fields of {@link TokenBudgetOptions}. */
export const budgetFields = lazy(() => ({
  maxTokens: positiveInteger(),
  targetTokens: z.optional(positiveInteger()),
  tokenCounter: counterField(),
}));

/**
 * Resolves the options to a budget.
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
    targetTokens: targetTokens ?? Math.max(1, Math.floor(maxTokens * defaultTargetShare)),
    counter: tokenCounter ?? tiktokenCounter(),
  };
}

/** Returns the indexes of the messages that stay within a budget; keeps `reserve` tokens free for another message. */
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

/** Clips the tool results of the newest step as far as the budget requires. */
export async function clipToBudget(messages: readonly BaseMessage[], budget: TokenBudget): Promise<BaseMessage[]> {
  const excess = (await countMessages(budget.counter, messages)) - budget.maxTokens;
  if (excess <= 0) {
    return [...messages];
  }
  const rest = [...messages.keys()].filter((index) => !["system", "summary"].includes(roleOf(messages[index]!)));
  const newestStep = findBoundaries(rest.map((index) => messages[index]!)).lastIndexOf(1, rest.length - 1);
  const indexes = rest.slice(Math.max(0, newestStep)).filter((index) => roleOf(messages[index]!) === "tool");
  return clipToolResults(messages, { indexes, excess, counter: budget.counter });
}
