import * as z from "zod/mini";
import { anyText, fraction, lazy, nonNegativeInteger, objectWith, positiveInteger } from "../../base/options.js";
import type { RedisChatMessageHistory } from "../../memory/histories/redis-chat-message-history.js";
import { limitedText } from "../../store/contract/session-ref.js";
import { counterField, type TokenCounter } from "../../conversation/tokens/counted-messages.js";
import { toolListSchema, type ToolDefinitionLike } from "../../conversation/tokens/formulas/tools-cost.js";
import { removeFromTextSchema, type RemoveFromText } from "./text-cleaner.js";
import type { BuiltInProfile } from "../../conversation/structure/profiles/built-in-profiles.js";
import type { StructureProfile } from "../../conversation/structure/profiles/profile.js";
import { ReferenceManager } from "./stored/references.js";

/** Options of {@link HistoryManager}. */
export interface HistoryManagerOptions {
  /** The history of the session. */
  readonly history: RedisChatMessageHistory;
  /** The model's input limit for one request, in tokens. At least 1. @default the window of `model` */
  readonly maxInputTokens?: number;
  /**
   * Tokens of the window that are left for the answer.
   * @default 0 with `maxInputTokens`; else the model's `maxTokens`, at most half of the window, or 10 % of the window
   */
  readonly reserveForAnswer?: number;
  /** Counts tokens. @default the history's counter, or `tiktokenCounter()` if it has none */
  readonly tokenCounter?: TokenCounter;
  /** Share of the space left after system prompt, user message and tools for uploads; from 0 to 1. @default 0.6 */
  readonly percentForUploadedContent?: number;
  /**
   * Share of the window without the answer to leave free, because counts are estimates; from 0 to below 1.
   * @default 0.05 behind an answer of `model` whose usage is known, else 0.1
   */
  readonly safetyMargin?: number;
  /**
   * The tools sent with each request, as passed to `bindTools`. Omit them if the counter was created with them.
   * @default those bound to `model`
   */
  readonly tools?: readonly ToolDefinitionLike[];
  /** Numbers the sources. @default a new `ReferenceManager` */
  readonly references?: ReferenceManager;
  /**
   * Reaction to a smallest request that exceeds the window: report it in the outcome, or throw a `BudgetError`.
   * @default "report"
   */
  readonly onOverBudget?: "report" | "throw";
  /**
   * The model's structure profile: its requests are repaired for it. `"auto"`: that of `model`; without one the neutral
   * form. @default the memory's; where that is `"auto"` and there is no `model`, `langchain`
   */
  readonly profile?: BuiltInProfile | StructureProfile | "auto";
  /**
   * The model that is called, with its bindings: for its window, its tools, the profile `"auto"`, and the tokens that
   * it counted for the newest answer's request, from which later requests are estimated. @default not known
   */
  readonly model?: unknown;
  /** Maximum size of one upload, in bytes as stored. At least 1. @default 1_000_000 */
  readonly maxUploadBytes?: number;
  /** Maximum size of all uploads of the session together, in bytes as stored. At least 1. @default 5_000_000 */
  readonly maxUploadsBytes?: number;
  /**
   * How many sources of earlier turns the session keeps for lookups; the oldest are dropped first. Every turn reads
   * them. At least 1.
   * @default 200
   */
  readonly maxSources?: number;
}

/** The inputs of a model call besides the history. */
export interface ModelCallRequest {
  /** The user's own text, which is stored, unless a message of just this text is the session's last one. */
  readonly originalUserMessage: string;
  /** The text that the model reads instead. */
  readonly renderedUserMessage: string;
  /** The system prompt; the empty string for none. */
  readonly renderedSystemMessage: string;
  /**
   * Names the turn, the same in each call of it. A turn that is stored already, or in part, is recognized at any later
   * moment and by any process: its question is shown once, and the commit adds what is missing.
   * @default the turn is new
   */
  readonly turnId?: string;
  /** Removes text from earlier human and AI messages before the model reads them. @default nothing is removed */
  readonly removeFromText?: RemoveFromText;
}

/**
 * Options of `getUserVisibleHistory`.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { HistoryManager } from "langchain-redis-memory/tool-loop";
 *
 * const history = new RedisChatMemory({ url: "redis://localhost:6379" }).history("chat-7");
 * const manager = new HistoryManager({ history, maxInputTokens: 8_000 });
 * const shown = await manager.getUserVisibleHistory({ rounds: 10 }); // for the page, not for a model
 */
export interface UserVisibleOptions {
  /** Removes text that the user should not see from human and AI messages. @default nothing is removed */
  readonly removeFromText?: RemoveFromText;
  /** How many of the newest stored rounds to read. At least 1. @default 50 */
  readonly rounds?: number;
}

const historyMethods = ["getMessages", "append", "getRounds"];

/** Schema of {@link HistoryManagerOptions}. */
export const managerSchema = lazy(() =>
  z.strictObject({
    history: objectWith<RedisChatMessageHistory>(historyMethods, "a RedisChatMessageHistory"),
    maxInputTokens: z.optional(positiveInteger()),
    reserveForAnswer: z.optional(nonNegativeInteger()),
    tokenCounter: counterField(),
    percentForUploadedContent: z._default(fraction(), 0.6),
    safetyMargin: z.optional(fraction().check(z.lt(1, "must be a number from 0 to below 1"))),
    tools: toolListSchema(),
    references: z._default(
      objectWith<ReferenceManager>(["addChunks", "chunkOf", "restore"], "a ReferenceManager"),
      () => new ReferenceManager(),
    ),
    profile: z.optional(z.custom<BuiltInProfile | StructureProfile | "auto">()),
    model: z.optional(z.unknown()),
    onOverBudget: z._default(z.enum(["report", "throw"], 'must be "report" or "throw"'), "report"),
    maxUploadBytes: z._default(positiveInteger(), 1_000_000),
    maxUploadsBytes: z._default(positiveInteger(), 5_000_000),
    maxSources: z._default(positiveInteger(), 200),
  }),
);

/** Schema of {@link ModelCallRequest}. */
export const modelCallSchema = lazy(() =>
  z.strictObject({
    originalUserMessage: anyText(),
    renderedUserMessage: anyText(),
    renderedSystemMessage: anyText(),
    turnId: z.optional(limitedText("id")),
    removeFromText: z.optional(removeFromTextSchema()),
  }),
);

/** Schema of {@link UserVisibleOptions}. */
export const userVisibleSchema = lazy(() =>
  z.strictObject({ removeFromText: z.optional(removeFromTextSchema()), rounds: z._default(positiveInteger(), 50) }),
);

/** Schema of the options of `commit`. */
export const commitSchema = lazy(() => z.strictObject({ turnId: z.optional(limitedText("id")) }));
