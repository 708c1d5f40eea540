import type { HeldTicket, HoldPlace, HoldRequest } from "./holds.js";
import type { StoredPage, StoredPageRequest, StoredStats } from "./session-pages.js";
import type { SessionRef } from "./session-ref.js";
import type { SideWrite } from "./side-fields.js";

/** Data of a session beside its log and its view, with the same lifetime. */
export interface SessionData {
  /** Side fields of the session whose names begin with `prefix`. */
  readSide(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>>;
  /** Writes side fields in one step and creates the session if needed; false if an expected value is not stored. */
  writeSide(session: SessionRef, changes: SideWrite): Promise<boolean>;
  /** A page of the log with the session's bounds and head; undefined if `around` is not in the log. */
  readPage(session: SessionRef, request: StoredPageRequest): Promise<StoredPage | undefined>;
  /** Statistics of a session and its last reductions; undefined if it does not exist. */
  readStats(session: SessionRef): Promise<StoredStats | undefined>;
  /**
   * Acquires the hold, the exclusive right to write: a lease with a fencing token, granted in FIFO order. The ticket
   * gets it if nobody holds the session and no earlier ticket waits; otherwise the ticket is queued. In the same step
   * the fencing token rises above all earlier ones, and the session is created if needed. Called again by the holder,
   * it renews the lease and returns the same token. A waiter polls by repeating this call: one that is not seen for
   * `graceMs` loses its place. `clear` and expiry end the queue with the session.
   */
  acquireHold(session: SessionRef, request: HoldRequest): Promise<HoldPlace>;
  /** Renews a hold; false if the ticket no longer has it. */
  renewHold(session: SessionRef, held: HeldTicket): Promise<boolean>;
  /** Releases the hold, or the place in the queue. A session that exists only because of the hold is removed. */
  releaseHold(session: SessionRef, ticket: string): Promise<void>;
  /** Acquires a session's lease; returns its token, or undefined while another token owns it. */
  acquireLease(session: SessionRef, ttlMs: number): Promise<string | undefined>;
  /** Releases the lease if `token` still owns it. */
  releaseLease(session: SessionRef, token: string): Promise<void>;
  /**
   * Sets the expiry of an expiring session to `ttlMs` from now, in lists too. Returns false and changes nothing for a
   * session that does not expire, does not exist or was erased.
   */
  extendExpiry(session: SessionRef, ttlMs: number): Promise<boolean>;
}
