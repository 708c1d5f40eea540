import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import { anyFunction, lazy, nonEmptyText, objectWith, positiveInteger } from "../../base/options.js";
import { tiktokenCounter } from "../tokens/counters/tiktoken-counter.js";
import type { TokenCounter } from "../tokens/token-counter.js";

/** Schema fields of the options that say which messages always stay. */
export const sectionFields = lazy(() => ({
  systemMessages: z._default(z.enum(["all", "first", "latest"], 'must be "all", "first" or "latest"'), "all"),
  pin: z.optional(anyFunction<(message: BaseMessage) => boolean>()),
  cutAt: z.optional(z.enum(["turn", "step"], 'must be "turn" or "step"')),
}));

/** Schema field of the option that says what summaries are to say more about. */
export const focusField = lazy(() => ({ focus: z.optional(nonEmptyText()) }));

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
  tokenCounter: z.optional(
    objectWith<TokenCounter>(["countMessage", "countText"], "a TokenCounter").check(
      z.refine(
        ({ id, perRequest }) => typeof id === "string" && perRequest >= 0 && perRequest < Infinity,
        'must have an "id" and a "perRequest" of 0 or more',
      ),
    ),
  ),
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
