import type { SessionData, SessionCopies } from "./session-data.js";
import type { SessionEdits, AppendRequest, AppendResult, CommitRequest } from "./session-writes.js";
import type { SessionLists, SessionRef } from "./session-ref.js";
import type { ReadViewOptions, SessionView } from "./session-reads.js";
import type { SizeLimits } from "./append-decision.js";

/**
 * The methods of the log; `testing/session-store-contract.ts` is the contract as tests.
 *
 * A session is a *log* of records (opaque strings, numbered by *position* from 0 without gaps), a *start* and a *head*;
 * each time it is created it gets a new `epoch`, and with each reduction, rewind and rebuild a new `rev`. A store looks
 * inside no record, but that one whose text begins with `{"type":"human"` begins a round. Every method is atomic and
 * may be repeated where its outcome is not known.
 */
export interface SessionStoreCore {
  /**
   * Adds records at the end of the log, contiguously, in order; records whose id is already in the log are not
   * added again.
   *
   * @throws ConflictError `content` (an id is stored with another digest, and `onConflict` is `error`), `position` or
   *   `epoch` (not as expected), `fenced`; StoreError `damaged`, `too_large` and what Redis answers.
   */
  append(session: SessionRef, request: AppendRequest): Promise<AppendResult>;
  /** The head and the log from the start on. An unknown session is an empty view with epoch `""`. */
  readView(session: SessionRef, options?: ReadViewOptions): Promise<SessionView>;
  /** Moves the start and replaces the head if the session is as it was read; else changes nothing (`stale`). */
  commitReduction(session: SessionRef, request: CommitRequest): Promise<"committed" | "stale">;
  /**
   * Removes the session and its side fields. The next append creates a new one, with another epoch. Under a hold, the
   * queue and the fencing token stay, under the new epoch that is returned; else that is `""`.
   */
  clear(session: SessionRef): Promise<string>;
}

/** The methods beyond those of the log, by what they concern. */
export interface SessionStoreGroups {
  /** Changes of stored records. */
  readonly edits: SessionEdits;
  /**
   * Data of a session beside its log and its view: side fields, turns, holds, leases, the expiry, and the counters from
   * which rounds, pages and statistics are read.
   */
  readonly data: SessionData;
  /** Lists of sessions by owner. */
  readonly lists: SessionLists;
  /** Snapshots of whole sessions, read and created. */
  readonly copies: SessionCopies;
}

/** A store of sessions: `RedisSessionStore`, or `InMemorySessionStore` for tests and programs without Redis. */
export interface SessionStore extends SessionStoreCore, SessionStoreGroups {
  /** Size limits, which writers check before they count tokens. */
  readonly limits: SizeLimits;
  /** Closes what this store opened. Later calls fail with a `StoreError` `closed`. */
  close(): Promise<void>;
}
