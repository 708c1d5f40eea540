import type { HeldTicket, HoldPlace, HoldRequest } from "./holds.js";
import type { StoredPage, StoredPageRequest, StoredReduction, StoredStats } from "./session-pages.js";
import type { StoredRounds } from "./session-reads.js";
import type { SessionRef } from "./session-ref.js";
import type { SideWrite } from "./side-fields.js";
import type { StoredTurn } from "./turns.js";

/**
 * Data of a session beside its log and its view. It belongs together because it shares the session's lifetime, and is
 * written atomically with the log: side fields, the marks of turns, who holds the session and who waits for it, leases,
 * the expiry, and the counts and positions from which rounds, pages and figures are read. A store with this group
 * honours `AppendRequest.turn`, `AppendRequest.side`, and `hold` in every write.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const held = { ticket: "worker-1", holdMs: 30_000 };
 * const place = await store.beside.takeHold({ id: "chat-7" }, { ...held, graceMs: 5_000 });
 * if (place.isHeld) {
 *   const session = { id: "chat-7", hold: place.hold };
 *   const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 *   await store.append(session, { records: [hello] });
 *   await store.beside.writeSide(session, { set: { language: "nb" } });
 *   await store.beside.renewHold(session, held); // for long work, before holdMs is over
 *   await store.beside.giveBackHold(session, held.ticket);
 * }
 * const page = await store.beside.readPage({ id: "chat-7" }, { limit: 50 });
 * const stats = await store.beside.readStats({ id: "chat-7" });
 * console.log(page?.records.length, stats?.messages); // 1 1
 */
export interface SessionBeside {
  /** Side fields of the session whose names begin with `prefix`. */
  readSide(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>>;
  /** Writes side fields in one step and creates the session if needed; false if an expected value is not stored. */
  writeSide(session: SessionRef, changes: SideWrite): Promise<boolean>;
  /** The stored records of a turn; undefined for an unknown turn. */
  readTurn(session: SessionRef, name: string): Promise<StoredTurn | undefined>;
  /** The last `count` rounds of the log, whole, even if they lie before the start; fewer if the log has fewer. */
  readRounds(session: SessionRef, count: number): Promise<StoredRounds>;
  /** A page of the log with what a screen needs to know of the session; undefined if `around` is not in the log. */
  readPage(session: SessionRef, request: StoredPageRequest): Promise<StoredPage | undefined>;
  /** The figures of a session; undefined if it does not exist. */
  readStats(session: SessionRef): Promise<StoredStats | undefined>;
  /** The last reductions, oldest first, at most `maxReductions`. */
  readReductions(session: SessionRef): Promise<readonly StoredReduction[]>;
  /**
   * Takes the hold, the right to write: one holder at a time, first come, first served. Takes it if nobody holds the
   * session and nobody waits before this ticket; else keeps the ticket's place in the line. Taking it raises the
   * session's fence above all earlier ones, in the same step, and creates the session if needed. Called again by the
   * holder, it extends the hold and gives the same fence.
   *
   * A hold belongs to a ticket for a limited time, which its holder extends while it works. Whoever wants the next one
   * repeats this call to be seen: a waiter that is not seen for `graceMs` loses its place. The line belongs to the
   * session: `clear` and expiry end it. The fence keeps a holder whose time ran out from writing behind a later one.
   *
   * @throws ConflictError `other_owner`; StoreError `erased`.
   */
  takeHold(session: SessionRef, request: HoldRequest): Promise<HoldPlace>;
  /** Extends a hold; false if the ticket no longer has it. */
  renewHold(session: SessionRef, held: HeldTicket): Promise<boolean>;
  /** Gives the hold, or the place in the line, back. A session that only the hold created ends with it. */
  giveBackHold(session: SessionRef, ticket: string): Promise<void>;
  /**
   * Clears the session of a hold, but for its line and its fence, so that the hold goes on. Returns the new epoch.
   *
   * @throws ConflictError `fenced`, `epoch` or `other_owner`; StoreError `erased`.
   */
  restart(session: SessionRef): Promise<string>;
  /** Takes a session's lease; returns its token, or undefined while another holds it. */
  acquireLease(session: SessionRef, ttlMs: number): Promise<string | undefined>;
  /** Gives the lease back if `token` still holds it. */
  releaseLease(session: SessionRef, token: string): Promise<void>;
  /**
   * Lets a session that expires live for `ttlMs` from now; its place in lists follows. Nothing changes, and the result
   * is false, for a session that does not expire or does not exist, and for the guard of an erased one.
   */
  extendExpiry(session: SessionRef, ttlMs: number): Promise<boolean>;
}
