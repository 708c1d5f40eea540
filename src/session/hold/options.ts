import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import type { HistoryIdentity } from "../identity.js";
import { lazy, nonNegativeInteger, parseOptions, positiveInteger } from "../../base/options.js";

/** Options of `memory.withTurn`: whose session it is, as for `memory.history`, and times in milliseconds. */
export interface WithTurnOptions extends HistoryIdentity {
  /** How long the session's turn is waited for; 0 asks once. @default 60_000 */
  readonly waitMs?: number;
  /**
   * How long a process that died or was paused keeps the others from the session, at least 100. A turn is renewed after
   * each third of it. @default 10_000
   */
  readonly holdMs?: number;
}

/** The options with their defaults; who calls is checked where the history is made. */
type CheckedTurnOptions = HistoryIdentity & Required<Pick<WithTurnOptions, "waitMs" | "holdMs">>;

/** How long a turn is waited for, and held by a process that shows no life, in milliseconds. */
export type HoldTimes = Pick<WithTurnOptions, "waitMs" | "holdMs">;

const defaults: Required<HoldTimes> = { waitMs: 60_000, holdMs: 10_000 };

/** The same options, with the times for those that are not given. */
export function withDefaultTimes<Options extends HoldTimes>(options: Options): Options & Required<HoldTimes> {
  const { waitMs = defaults.waitMs, holdMs = defaults.holdMs } = options;
  return { ...options, waitMs, holdMs };
}

/** Maximum delay of a timer. */
const maxMs = 2 ** 31 - 1;

const times = lazy(() => ({
  waitMs: z._default(nonNegativeInteger().check(z.maximum(maxMs, `must be at most ${maxMs}`)), defaults.waitMs),
  holdMs: z._default(
    positiveInteger()
      .check(z.minimum(100, "must be 100 or more"))
      .check(z.maximum(maxMs, `must be at most ${maxMs}`)),
    defaults.holdMs,
  ),
}));

const schema = lazy(() =>
  z.strictObject({
    owner: z.optional(z.unknown()),
    title: z.optional(z.unknown()),
    metadata: z.optional(z.unknown()),
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
  return parseOptions("withTurn", schema(), options) as CheckedTurnOptions;
}
