import type { SessionAccess } from "./session-index.js";

/**
 * Lets a session that expires live so much longer from now; its place in lists follows. Nothing changes, and the result
 * is false, for a session that does not expire or does not exist, and for the guard of an erased one.
 */
export interface ExpiryExtension extends SessionAccess {
  /** All keys of the session expire this many milliseconds from now. */
  readonly ttlMs: number;
}
