import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError } from "../../../base/errors.js";
import { limitedText } from "../../../store/contract/session-ref.js";
import type { HistoryIdentity } from "../identity.js";
import { lazy, nonNegativeInteger, parseOptions, positiveInteger } from "../../../base/options.js";
import { toMessage } from "../../../conversation/messages/values.js";

/** Options of `memory.withTurn`: owner and label as for `memory.history`, and times in milliseconds. */
export interface WithTurnOptions extends HistoryIdentity {
  /** Maximum wait for the session's hold; 0 tries once. @default 60_000 */
  readonly waitMs?: number;
  /**
   * Expiry of the hold of a process that died or was paused, at least 100. A hold is renewed every third of it.
   * @default 10_000
   */
  readonly holdMs?: number;
  /**
   * The turn's new input: text, a message, or messages. Opens the turn, so that the function gets it as its second
   * argument: a question that the function's error refuses for good is marked. @default none: the function writes
   */
  readonly input?: string | BaseMessage | readonly BaseMessage[];
  /**
   * Idempotency key of the turn, with `input`: a retried job brings the same one.
   * @default the id of the input's last message, if it is a user message
   */
  readonly turnId?: string;
}

/** The options with their defaults, the input as messages; owner and label are checked when the history is made. */
export type CheckedTurnOptions = HistoryIdentity &
  Required<HoldTimes> & { readonly input?: BaseMessage[] | undefined; readonly turnId?: string | undefined };

/** Maximum wait for a hold, and its expiry without renewal, in milliseconds. */
export type HoldTimes = Pick<WithTurnOptions, "waitMs" | "holdMs">;

/** Times of a hold for which no others are given. */
export const defaultTimes: Required<HoldTimes> = { waitMs: 60_000, holdMs: 10_000 };

/** Maximum delay of a timer. */
const maxMs = 2 ** 31 - 1;

const times = lazy(() => ({
  waitMs: z._default(nonNegativeInteger().check(z.maximum(maxMs, `must be at most ${maxMs}`)), defaultTimes.waitMs),
  holdMs: z._default(
    positiveInteger()
      .check(z.minimum(100, "must be 100 or more"))
      .check(z.maximum(maxMs, `must be at most ${maxMs}`)),
    defaultTimes.holdMs,
  ),
}));

const schema = lazy(() =>
  z.strictObject({
    owner: z.optional(z.unknown()),
    title: z.optional(z.unknown()),
    metadata: z.optional(z.unknown()),
    turnId: z.optional(limitedText("id")),
    input: z.optional(z.unknown()),
    ...times(),
  }),
);

/** The schema of the option `oneTurnAtATime`: true, false, or times. */
export const oneTurnSchema = lazy(() =>
  z.union([z.boolean(), z.strictObject(times())], "must be true, false or { waitMs, holdMs }"),
);

/**
 * Checks the arguments of `withTurn`.
 *
 * @throws ConfigurationError naming the option.
 */
export function turnOptions(run: unknown, options: WithTurnOptions = {}): CheckedTurnOptions {
  if (typeof run !== "function") {
    throw new ConfigurationError("run", "withTurn: the second argument must be a function of the history.");
  }
  const { input, ...checked } = parseOptions("withTurn", schema(), options);
  if (input === undefined && checked.turnId !== undefined) {
    throw new ConfigurationError("turnId", 'withTurn: option "turnId" needs "input", the question of the turn.');
  }
  return { ...checked, ...(input !== undefined && { input: inputOf(input) }) } as CheckedTurnOptions;
}

function inputOf(input: unknown): BaseMessage[] {
  const list = Array.isArray(input) ? (input as unknown[]) : [input];
  if (list.length === 0) {
    throw new ConfigurationError("input", 'withTurn: option "input" must hold at least one message.');
  }
  return list.map((like, index) => toMessage(like, { option: "input", list: "withTurn: input", index }));
}
