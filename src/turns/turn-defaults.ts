import * as z from "zod/mini";
import { lazy } from "../base/options.js";
import { oneTurnSchema, withDefaultTimes, type HoldTimes } from "../session/hold/hold-options.js";
import { requireGroup } from "../store/groups.js";
import type { SessionStore } from "../store/session-store.js";

/**
 * How each door stores and holds a turn unless it is told otherwise, chosen for the one who reads the chat:
 * docs/decisions/17-defaults-of-a-turn.md says why.
 */
const turnDefaults = { persist: "step", onAbort: "keep", oneTurnAtATime: true } as const;

/** The three options as fields of a door's schema. `oneTurnAtATime` stays undefined where nobody asks for it. */
export const turnFields = lazy(() => ({
  persist: z._default(z.enum(["turn", "step"], 'must be "turn" or "step"'), turnDefaults.persist),
  onAbort: z._default(z.enum(["discard", "keep"], 'must be "discard" or "keep"'), turnDefaults.onAbort),
  oneTurnAtATime: z.optional(oneTurnSchema()),
}));

/** How the runs of a door hold their sessions. */
export interface HoldPolicy extends Required<HoldTimes> {
  /** True where the user asked for it: then a run that cannot hold its session is refused. */
  readonly isAsked: boolean;
}

/**
 * How runs hold their sessions; undefined where the user does not want it.
 *
 * @throws ConfigurationError where the user asks for it and the store, if it is known, cannot do it.
 */
export function holdPolicy(
  owner: string,
  option: boolean | HoldTimes | undefined,
  store: SessionStore | undefined,
): HoldPolicy | undefined {
  const isAsked = option !== undefined;
  const chosen = isAsked ? option : turnDefaults.oneTurnAtATime;
  if (chosen === false) {
    return undefined;
  }
  if (isAsked && store !== undefined) {
    requireGroup(`${owner}: oneTurnAtATime`, store, "beside");
  }
  return { ...withDefaultTimes(chosen === true ? {} : chosen), isAsked };
}
