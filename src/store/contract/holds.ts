import type { SessionHold } from "./session-ref.js";

/** A holder's ticket and the duration of its lease. */
export interface HeldTicket {
  /** A random token that the holder chooses: 1 to 64 characters of base64url. */
  readonly ticket: string;
  /** Duration of the lease from now, in milliseconds. */
  readonly holdMs: number;
  /** The session's time to live: the session does not expire while the hold is taken and renewed in time. */
  readonly ttlMs?: number;
}

/** A request for the hold of a session. */
export interface HoldRequest extends HeldTicket {
  /** Milliseconds after which a waiter that no longer polls loses its place. */
  readonly graceMs: number;
}

/** The hold, or the place in the queue. */
export type HoldPlace =
  | {
      readonly isHeld: true;
      /** Epoch and fencing token for the holder's writes, in their {@link SessionRef}. */
      readonly hold: Required<SessionHold>;
    }
  | {
      readonly isHeld: false;
      /** Waiting tickets ahead of this one, without the holder's. */
      readonly ahead: number;
    };
