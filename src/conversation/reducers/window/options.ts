import type { ToolMessage, BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError } from "../../../base/errors.js";
import {
  fraction,
  lazy,
  nonNegativeInteger,
  objectWith,
  parseOptions,
  positiveInteger,
} from "../../../base/options.js";
import type { SchemaOutput } from "../../../base/options.js";
import { toolListSchema, type ToolDefinitionLike } from "../../tokens/formulas/tools-cost.js";
import { counterField, type TokenCounter } from "../../tokens/counted-messages.js";
import { type ShortenResult, shorteningFields } from "../tool-result-reducer.js";
import type { SummaryModel } from "../summary/summarizer.js";
import { roundsIn } from "../../messages/rounds.js";

/** Options of {@link contextWindow}. */
export interface ContextWindowOptions {
  /** Tokens that a request may hold. At least 1. @default `profile.maxInputTokens` of the request's model */
  readonly maxInputTokens?: number;
  /**
   * Tokens of the window that are left for the answer.
   * @default the model's `maxTokens`, at most half of the window; else 10 % of the window, at most what it can answer
   */
  readonly reserveForAnswer?: number;
  /**
   * Share of the window without the answer that stays empty, because sizes are estimates. From 0 to below 1.
   * @default 0.05 behind an answer whose usage is known, else 0.1
   */
  readonly safetyMargin?: number;
  /**
   * Share to reduce messages to, of what system prompt, tools, margin and answer leave them; of what they take, where a
   * trigger fires below the room. @default 0.8
   */
  readonly target?: number;
  /** Sizes from which to reduce, any of a list. A request above the room is always reduced. @default the room */
  readonly trigger?: WindowTrigger | readonly WindowTrigger[];
  /**
   * How many of the newest steps with tool results stay whole when old results are shortened. Before a message leaves,
   * all results of finished turns are shortened. @default 3
   */
  readonly keepToolResults?: number;
  /** The text of a shortened tool result. @default its first characters, in one line */
  readonly placeholder?: string | ((message: ToolMessage) => string);
  /** Names of tools whose results stay whole for as long as their messages stay. @default none */
  readonly excludeTools?: readonly string[];
  /** Summarizes what leaves the view. If no summary can be written, messages leave without one. @default none */
  readonly summary?: {
    /** Writes the summaries; a small model will do. */
    readonly model: SummaryModel;
  };
  /** The system prompt of the requests, where the place of the reducer does not show it. @default none */
  readonly systemPrompt?: string;
  /** The tools of the requests, where the place of the reducer does not show them. @default none */
  readonly tools?: readonly ToolDefinitionLike[];
  /** Estimates tokens. @default approximateCounter() */
  readonly tokenCounter?: TokenCounter;
}

const owner = "contextWindow";

const share = lazy(() => fraction().check(z.refine((value) => value < 1, "must be a number from 0 to below 1")));

const schema = lazy(() =>
  z.strictObject({
    maxInputTokens: z.optional(positiveInteger()),
    reserveForAnswer: z.optional(nonNegativeInteger()),
    safetyMargin: z.optional(share()),
    target: z._default(fraction().check(z.refine((value) => value > 0, "must be a number above 0, up to 1")), 0.8),
    ...triggerField(),
    keepToolResults: z._default(nonNegativeInteger(), 3),
    ...shorteningFields(),
    summary: z.optional(
      z.strictObject({ model: objectWith<SummaryModel>(["invoke"], "a chat model or another Runnable") }),
    ),
    systemPrompt: z.optional(z.string("must be a string")),
    tools: toolListSchema(),
    tokenCounter: counterField(),
  }),
);

/** The checked options with their defaults. */
export type WindowSettings = Omit<SchemaOutput<typeof schema>, "trigger"> & {
  /** None where no size is named. */
  readonly trigger: readonly WindowTrigger[];
  /** How results of the turn that goes on become shorter; to a note where no more fits. @default by their beginning */
  readonly shorten?: ShortenResult;
};

/** @throws ConfigurationError naming the option. */
export function windowSettings(options: ContextWindowOptions): WindowSettings {
  const checked = parseOptions(owner, schema(), options);
  const settings = { ...checked, trigger: triggersIn(checked) };
  checkReserve(owner, settings);
  return settings;
}

/** @throws ConfigurationError if the room for the answer is as large as the window that the options name. */
export function checkReserve(
  of: string,
  { maxInputTokens = Infinity, reserveForAnswer = 0 }: Pick<WindowSettings, "maxInputTokens" | "reserveForAnswer">,
): void {
  if (reserveForAnswer >= maxInputTokens) {
    throw new ConfigurationError(
      "reserveForAnswer",
      `${of}: option "reserveForAnswer" must be below "maxInputTokens" (${maxInputTokens}); got ${reserveForAnswer}.`,
    );
  }
}

/**
 * A size from which a request is reduced although it fits. All given parts must hold. At least one is required.
 * @example
 * import { contextWindow, type WindowTrigger } from "langchain-redis-memory";
 *
 * const either: WindowTrigger[] = [{ fraction: 0.7, messages: 40 }, { tokens: 50_000 }];
 * const window = contextWindow({ trigger: either });
 */
export interface WindowTrigger {
  /** Share from 0 to 1 of the room, not of the window. */
  readonly fraction?: number;
  /** Tokens of the request. */
  readonly tokens?: number;
  /** Messages of the view, without the system prompt of a request. */
  readonly messages?: number;
  /** Rounds of the view, that of a question without an answer included. */
  readonly rounds?: number;
}

/** A check by hand: the parts of the schema library that it would take are larger than a reducer. */
function isTrigger(value: unknown): boolean {
  const isAmount = (part: unknown) => part === undefined || (Number.isSafeInteger(part) && (part as number) > 0);
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) {
    return false;
  }
  const { fraction: share, tokens, messages, rounds, ...others } = value as WindowTrigger;
  const isShare = share === undefined || (typeof share === "number" && share >= 0 && share <= 1);
  return isShare && [tokens, messages, rounds].every(isAmount) && Object.keys(others).length === 0;
}

const listOf = <T>(value: T | readonly T[]) => (Array.isArray(value) ? (value as readonly T[]) : [value as T]);

/** Schema field of the option `trigger`; see {@link triggersIn}. */
const triggerField = lazy(() => ({
  trigger: z.optional(
    z.custom<WindowTrigger | readonly WindowTrigger[]>(
      (value) => listOf(value).every(isTrigger),
      "must be a trigger or an array of triggers, which name fraction, tokens, messages or rounds",
    ),
  ),
}));

interface TriggerOption {
  readonly trigger?: WindowTrigger | readonly WindowTrigger[] | undefined;
}

/** A list of triggers of any of which one fires; empty where none is named. */
function triggersIn({ trigger }: TriggerOption): readonly WindowTrigger[] {
  return trigger === undefined ? [] : listOf(trigger);
}

/** A size to compare triggers with: `full` is what its fraction is a share of. */
interface TriggerSize {
  readonly tokens: number;
  readonly messages: readonly BaseMessage[];
  readonly full: number;
}

/** True if one of the triggers fires at this size. */
export function fires(triggers: readonly WindowTrigger[], { tokens, messages, full }: TriggerSize): boolean {
  return triggers.some(
    (each) =>
      tokens >= (tokensOf(each, full) ?? 0) &&
      messages.length >= (each.messages ?? 0) &&
      (each.rounds === undefined || roundsIn(messages) >= each.rounds),
  );
}

/** The messages from which a trigger may fire: a round has at least one. */
export function leastMessages({ messages = 0, rounds = 0 }: WindowTrigger): number {
  return Math.max(messages, rounds);
}

/** The tokens from which a trigger may fire; undefined if it names none. */
export function tokensOf({ fraction: share = 0, tokens = 0 }: WindowTrigger, full: number): number | undefined {
  return Math.max(share * full, tokens) || undefined;
}
