import { z } from "zod";
import { anyText, fraction, lazy, nonEmptyText, objectWith, positiveInteger } from "../options.js";
import type { RedisChatMessageHistory } from "../memory/redis-chat-message-history.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { toolListSchema, type ToolDefinitionLike } from "../tokens/formulas/tools-cost.js";
import { removeFromTextSchema, type RemoveFromText } from "./shown/clean-text.js";
import { ReferenceManager } from "./stored/reference-manager.js";

/** Options of {@link HistoryManager}. */
export interface HistoryManagerOptions {
  /** The session's history. */
  readonly history: RedisChatMessageHistory;
  /** Tokens that the model takes in one request. At least 1. */
  readonly maxInputTokens: number;
  /** Counts tokens. @default the history's counter, else `tiktokenCounter()` */
  readonly tokenCounter?: TokenCounter;
  /** Share of what system prompt, user message and tools leave that uploads may have; from 0 to 1. @default 0.6 */
  readonly percentForUploadedContent?: number;
  /** Share of `maxInputTokens` that is left free, because counts are estimates; from 0 to below 1. @default 0.1 */
  readonly safetyMargin?: number;
  /**
   * The tools that go with each request, as given to `bindTools`. Leave them out where the counter was made with them.
   * @default none
   */
  readonly tools?: readonly ToolDefinitionLike[];
  /** Where sources get their numbers. @default a manager of its own */
  readonly references?: ReferenceManager;
  /**
   * What to do where even the smallest form does not fit: say so in the outcome, or throw a `BudgetError`.
   * @default "report"
   */
  readonly onOverBudget?: "report" | "throw";
  /** Largest upload, in bytes of UTF-8 as stored. At least 1. @default 1_000_000 */
  readonly maxUploadBytes?: number;
  /** All uploads of the session together, in bytes. At least 1. @default 5_000_000 */
  readonly maxUploadsBytes?: number;
  /**
   * Cited sources of earlier turns that the session keeps for lookups; the oldest go first. They are read with every
   * turn. At least 1.
   * @default 200
   */
  readonly maxSources?: number;
}

/** What a model call is made of besides the history. */
export interface ModelCallRequest {
  /** What the user wrote: this is what is stored. */
  readonly originalUserMessage: string;
  /** What the model reads in its place. */
  readonly renderedUserMessage: string;
  /** The system prompt; the empty string for none. */
  readonly renderedSystemMessage: string;
  /** Takes out of earlier human and AI texts what the model did not write. @default nothing is removed */
  readonly removeFromText?: RemoveFromText;
}

/** How to show a conversation to its user. */
export interface UserVisibleOptions {
  /** Takes out of human and AI texts what the user should not see. @default nothing is removed */
  readonly removeFromText?: RemoveFromText;
  /** How many stored rounds, the newest, are read. At least 1. @default 50 */
  readonly rounds?: number;
}

const historyMethods = ["getMessages", "append", "getRounds"];

/** The form of {@link HistoryManagerOptions}. */
export const managerSchema = lazy(() =>
  z.strictObject({
    history: objectWith<RedisChatMessageHistory>(historyMethods, "a RedisChatMessageHistory"),
    maxInputTokens: positiveInteger,
    tokenCounter: objectWith<TokenCounter>(["countMessage", "countText"], "a TokenCounter").optional(),
    percentForUploadedContent: fraction.default(0.6),
    safetyMargin: fraction.lt(1, "must be a number from 0 to below 1").default(0.1),
    tools: toolListSchema(),
    references: objectWith<ReferenceManager>(["addChunks", "chunkOf", "restore"], "a ReferenceManager").default(
      () => new ReferenceManager(),
    ),
    onOverBudget: z.enum(["report", "throw"], 'must be "report" or "throw"').default("report"),
    maxUploadBytes: positiveInteger.default(1_000_000),
    maxUploadsBytes: positiveInteger.default(5_000_000),
    maxSources: positiveInteger.default(200),
  }),
);

/** The form of {@link ModelCallRequest}. */
export const modelCallSchema = lazy(() =>
  z.strictObject({
    originalUserMessage: anyText(),
    renderedUserMessage: anyText(),
    renderedSystemMessage: anyText(),
    removeFromText: removeFromTextSchema().optional(),
  }),
);

/** The form of {@link UserVisibleOptions}. */
export const userVisibleSchema = lazy(() =>
  z.strictObject({ removeFromText: removeFromTextSchema().optional(), rounds: positiveInteger.default(50) }),
);

/** The form of what `commit` takes. */
export const commitSchema = lazy(() =>
  z.strictObject({
    turnId: nonEmptyText().optional(),
  }),
);
