import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import { lazy, objectWith } from "../../base/options.js";
import { roundsIn } from "../messages/rounds.js";
import { countMessages } from "../tokens/counted-messages.js";
import type { TokenCounter } from "../tokens/token-counter.js";

/**
 * A size from which messages are reduced. All given parts must hold. At least one is required. At `contextWindow` it
 * is the size of a request that still fits; at the other reducers that of a view: below it they leave as it is what
 * they would reduce.
 * @example
 * import { ChatHistoryToolResultReducer, contextWindow, tiktokenCounter } from "langchain-redis-memory";
 * import type { WindowTrigger } from "langchain-redis-memory";
 *
 * const either: WindowTrigger[] = [{ fraction: 0.7, messages: 40 }, { tokens: 50_000 }];
 * const window = contextWindow({ trigger: either });
 * const results = new ChatHistoryToolResultReducer({
 *   keepLast: 3,
 *   trigger: { tokens: 20_000 },
 *   tokenCounter: tiktokenCounter(),
 * });
 */
export interface WindowTrigger {
  /**
   * Share from 0 to 1: at `contextWindow` of the room, not of the window; at a reducer with `maxTokens` of these. The
   * other reducers have nothing that it could be a share of.
   */
  readonly fraction?: number;
  /** Tokens of the request, or of the view. */
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

const listOf = <T>(given: T | readonly T[]) => (Array.isArray(given) ? (given as readonly T[]) : [given as T]);

/** Schema field of the option `trigger`; see {@link triggersIn}. */
export const triggerField = lazy(() => ({
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
export function triggersIn({ trigger }: TriggerOption): readonly WindowTrigger[] {
  return trigger === undefined ? [] : listOf(trigger);
}

/** Schema field of a counter. */
export const counterField = lazy(() => ({
  tokenCounter: z.optional(objectWith<TokenCounter>(["countMessage", "countText"], "a TokenCounter")),
}));

/** A size to compare triggers with: `full` is what its fraction is a share of. */
export interface TriggerSize {
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

/** How a reducer measures for its triggers. */
interface TriggerMeasure {
  readonly counter: TokenCounter | undefined;
  /** Tokens that a fraction is a share of. */
  readonly full?: number | undefined;
}

/** The triggers of a reducer, and how it measures. */
export interface ReducerTriggers extends TriggerMeasure {
  readonly trigger: readonly WindowTrigger[];
}

/** @throws ConfigurationError naming `trigger`, for one that the reducer cannot measure. */
export function reducerTriggers(owner: string, option: TriggerOption, measure: TriggerMeasure): ReducerTriggers {
  const { counter, full } = measure;
  const trigger = triggersIn(option);
  if (full === undefined && trigger.some((each) => each.fraction !== undefined)) {
    throw new ConfigurationError(
      "trigger",
      `${owner}: a "fraction" in option "trigger" requires "maxTokens", of which it is a share; give "tokens".`,
    );
  }
  if (counter === undefined && trigger.some((each) => each.tokens !== undefined)) {
    throw new ConfigurationError("trigger", `${owner}: "tokens" in option "trigger" require "tokenCounter".`);
  }
  return { trigger, ...measure };
}

/** True if a reducer may reduce the messages: one of its triggers fires, or it has none. */
export async function mayReduce(
  messages: readonly BaseMessage[],
  { trigger, counter, full = 0 }: ReducerTriggers,
): Promise<boolean> {
  if (trigger.length === 0) {
    return true;
  }
  const counts = trigger.some((each) => tokensOf(each, full) !== undefined);
  const tokens = counts ? await countMessages(counter!, messages) : 0;
  return fires(trigger, { tokens, messages, full });
}
