import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { lazy } from "../../../base/options.js";
import { roundsIn } from "../../messages/rounds.js";

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
