import type { SessionHold } from "./session-ref.js";

/** A ticket of its holder's own, and how long it holds the session. */
export interface HeldTicket {
  /** A random text that its holder chose: 1 to 64 characters of base64url. */
  readonly ticket: string;
  /** Milliseconds from now for which the session is held. */
  readonly holdMs: number;
  /** The session's time to live: the session does not expire while the hold is taken and renewed in time. */
  readonly ttlMs?: number;
}

/** A request for the hold of a session. */
export interface HoldRequest extends HeldTicket {
  /** Waiters that were not seen for so many milliseconds lose their place. */
  readonly graceMs: number;
}

/** Either the hold, or the number of waiters before the ticket. */
export type HoldPlace =
  | {
      /** The ticket holds the session. */
      readonly isHeld: true;
      /** Epoch and fencing token for the holder's writes, in their {@link SessionRef}. */
      readonly hold: Required<SessionHold>;
    }
  | {
      /** The ticket waits. */
      readonly isHeld: false;
      /** Tickets in front of this one: the holder's, if any, is not among them. */
      readonly ahead: number;
    };
