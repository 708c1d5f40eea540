import { KeyNeeded, refusalFrom, refuseFenced, refuseOwner } from "../contract/refusals.js";
import type { SessionRef } from "../contract/session-ref.js";
import { keyParts } from "../contract/writer-keys.js";
import type { InMemorySession } from "./session.js";

/** Checks of the gate in their order; the owner is always checked. A hold is checked by its epoch, then its fence. */
export type Check = "erased" | "key" | "hold";

/** All checks: those of a write. */
export const everyCheck: readonly Check[] = ["erased", "key", "hold"];

/**
 * Throws the error of the first check that fails. The order is that of gate.lua: erased, owner, key, epoch, fence; a
 * session in memory is never damaged. The call's own checks follow: position, stale, content. Returns the reply to a
 * repeated call.
 */
export function passGate<Answer = never>(
  operation: string,
  session: SessionRef,
  { stored, isErased, checks, repeated }: GatedCall<Answer>,
): Answer | undefined {
  if (isErased && checks.includes("erased")) {
    throw refusalFrom("ERASED", undefined, { operation, sessionId: session.id })!;
  }
  refuseOwner(session, stored?.ownership.owner);
  if (checks.includes("key")) {
    refuseKey(session, stored);
  }
  const { answer, hold } = repeated?.() ?? { answer: undefined, hold: session.hold };
  if (answer !== undefined) {
    return answer;
  }
  if (checks.includes("hold")) {
    refuseFenced({ ...session, hold }, stored);
  }
  return undefined;
}

function refuseKey({ id, keys }: SessionRef, stored: InMemorySession | undefined): void {
  const key = stored?.key;
  const isOther = key === undefined ? keys?.made === undefined : keys?.name !== keyParts(key).name;
  if (isOther && (key ?? keys?.name) !== undefined) {
    throw new KeyNeeded(id, key);
  }
}

/** The gate's input about a call that may repeat one whose reply was lost. */
export interface Repetition<Answer> {
  /** The reply to the repetition; undefined where the call is not one. */
  readonly answer?: Answer;
  /** The hold that the remaining checks compare. */
  readonly hold?: SessionRef["hold"];
}

interface GatedCall<Answer> {
  /** Undefined where the session does not exist. */
  readonly stored: InMemorySession | undefined;
  readonly isErased: boolean;
  readonly checks: readonly Check[];
  /** Asked behind the checks that say who may know of the first call, before those that it made fail itself. */
  readonly repeated?: (() => Repetition<Answer>) | undefined;
}
