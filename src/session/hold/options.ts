import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import type { HistoryIdentity } from "../identity.js";
import { lazy, nonNegativeInteger, parseOptions, positiveInteger } from "../../base/options.js";

/** Options of `memory.withTurn`: owner and label as for `memory.history`, and times in milliseconds. */
export interface WithTurnOptions extends HistoryIdentity {
  /** Maximum wait for the session's hold; 0 tries once. @default 60_000 */
  readonly waitMs?: number;
  /**
   * Expiry of the hold of a process that died or was paused, at least 100. A hold is renewed every third of it.
   * @default 10_000
   */
  readonly holdMs?: number;
}

/** The options with their defaults; owner and label are checked when the history is made. */
type CheckedTurnOptions = HistoryIdentity & Required<Pick<WithTurnOptions, "waitMs" | "holdMs">>;

/** Maximum wait for a hold, and its expiry without renewal, in milliseconds. */
export type HoldTimes = Pick<WithTurnOptions, "waitMs" | "holdMs">;

const defaults: Required<HoldTimes> = { waitMs: 60_000, holdMs: 10_000 };

/** The same options with default times. */
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
