import * as z from "zod/mini";
import { lazy } from "../../base/options.js";
import { defaultTimes, oneTurnSchema, type HoldTimes } from "../session/hold/options.js";

/** Defaults of chain and agent for storing and holding a turn. Reasons: docs/decisions/17-defaults-of-a-turn.md. */
const turnDefaults = { persist: "step", onAbort: "keep", oneTurnAtATime: true } as const;

/** Schema fields of these options. `oneTurnAtATime` stays undefined unless it is given. */
export const turnFields = lazy(() => ({
  persist: z._default(z.enum(["turn", "step"], 'must be "turn" or "step"'), turnDefaults.persist),
  onAbort: z._default(z.enum(["discard", "keep"], 'must be "discard" or "keep"'), turnDefaults.onAbort),
  oneTurnAtATime: z.optional(oneTurnSchema()),
}));

/** Policy by which runs hold their sessions. */
export interface HoldPolicy extends Required<HoldTimes> {
  /** True if the option was given: a run that cannot hold its session is then refused. */
  readonly isAsked: boolean;
}

/** Resolves the option `oneTurnAtATime`; undefined if it is off. */
export function holdPolicy(option: boolean | HoldTimes | undefined): HoldPolicy | undefined {
  const isAsked = option !== undefined;
  const chosen = isAsked ? option : turnDefaults.oneTurnAtATime;
  if (chosen === false) {
    return undefined;
  }
  return { ...defaultTimes, ...(chosen === true ? {} : chosen), isAsked };
}
