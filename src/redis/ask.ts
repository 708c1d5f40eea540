import { randomToken } from "../store/random-token.js";
import type { SessionRef } from "../store/session-ref.js";

/**
 * A session as scripts are told of it: who asks, what a new session is called, in which hold the caller writes, and
 * with
 * which keys. The only place where a {@link SessionRef} becomes a part of a script's request, which the gate checks.
 */
export function askOf({ owner, label, hold, keys }: SessionRef) {
  return {
    owner,
    label,
    ...(label && { labelVersion: randomToken() }),
    expectedEpoch: hold?.epoch,
    fencingToken: hold?.token,
    keys,
  };
}

/** The request of a script that is told nothing else in it. */
export function askText(session: SessionRef): string {
  return JSON.stringify(askOf(session));
}
