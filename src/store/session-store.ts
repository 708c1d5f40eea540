import type { SessionForks } from "./session-forks.js";
import type { SessionIndex } from "./lists.js";
import type { SessionRef } from "./session-ref.js";
import type { RecordSwaps } from "./record-swaps.js";
import type { SessionPages } from "./session-pages.js";
import type { LogPage, ReadLogOptions, ReadViewOptions, SessionView, StoredRounds } from "./session-reads.js";
import type { SessionTransfers } from "./session-transfers.js";
import type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  IdentifyRecord,
  ReplaceTailRequest,
  RewindRequest,
} from "./session-writes.js";
import type { SideWrite } from "./side-fields.js";
import type { SizeLimits } from "./size-limits.js";
import type { TurnQueue } from "./holds.js";
import type { StoredTurn } from "./turns.js";

/**
 * Where conversations are kept: the methods that every store has. This is the contract in prose; `sessionStoreContract`
 * in the entry `./testing` is the same contract as tests.
 *
 * A session is a *log* of records (opaque strings, oldest first, numbered by *position* from 0 without gaps, never
 * changed), a *start* (the position from which the model sees the log as it is) and a *head* (an opaque string that
 * stands for what the model sees before it). A store never looks inside a record, with one exception: a record whose
 * text begins with `{"type":"human"` begins a round.
 *
 * - Every method is atomic. In Redis it makes one round trip (`rewind`, `rebuild` and a read after another process
 *   rewound may make more).
 * - A session exists from its first append or side write until `clear`, expiry, or a rewind to nothing. Each time it is
 *   created it gets a new `epoch`.
 * - `rev` is a random token that is new after each reduction, rewind and rebuild; `next` only falls by a rewind.
 * - A method that fails with a `StoreError` `timeout` or `unavailable` may or may not have happened; repeating it
 *   is safe.
 * - A call that is refused changes nothing.
 * - Every method takes the session as its caller may touch it, a {@link SessionRef}. What that refuses is checked
 *   first.
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
  /** Records of the log, oldest first. */
  readLog(session: SessionRef, options?: ReadLogOptions): Promise<LogPage>;
  /** Moves the start and replaces the head if the session is as it was read; else changes nothing (`stale`). */
  commitReduction(session: SessionRef, request: CommitRequest): Promise<"committed" | "stale">;
  /** Removes the session and its side fields. The next append creates a new one, with another epoch. */
  clear(session: SessionRef): Promise<void>;
}

/**
 * A store of sessions: the five methods of the core, and optional capabilities that are recognized by their methods. A
 * capability is there as a whole or not at all. Each docstring says what happens if it is missing.
 */
export interface SessionStore extends SessionStoreCore {
  /**
   * The last `count` rounds of the log, whole, even if they lie before the start; fewer if the log has fewer.
   *
   * Missing: a history reads the whole log for `getRounds()`, and after retention `discard` it numbers rounds from the
   * oldest kept record.
   */
  readRounds?(session: SessionRef, count: number): Promise<StoredRounds>;
  /**
   * Removes all records from position `to` on if the session is as it was read. Before the start, and at the start
   * where the head is empty: the head empties and the start goes to `base`, so that the view shows what is left.
   *
   * Missing: `history.rewind()` throws a ConfigurationError.
   */
  rewind?(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale">;
  /**
   * Rewinds and appends in one step, if the session is as it was read; else changes nothing (`stale`).
   *
   * Missing: an interrupted answer is not replaced by the answer of a retry; the retry stores nothing.
   */
  replaceTail?(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale">;
  /**
   * What is stored of a turn; undefined for an unknown turn. A store with this method honours `AppendRequest.turn`;
   * this is the capability `turns`.
   *
   * Missing: a repeated turn is recognized by message ids only.
   */
  readTurn?(session: SessionRef, name: string): Promise<StoredTurn | undefined>;
  /**
   * Derives everything that is kept about a log from the log, so that a damaged session can be written again. Keeps
   * side fields, and start and head where they still fit. `identify` returns a record's id and digest, or undefined for
   * a record that cannot be read. Owner and label come back from what is left; where nothing says whose the session is,
   * a call that names an owner is refused as `damaged`, unless it `assigns` that owner, as an operator may.
   *
   * Missing: `history.rebuild()` and `onDamage: "rebuild"` throw a ConfigurationError.
   */
  rebuild?(
    session: SessionRef,
    identify: IdentifyRecord,
    options?: {
      /** True to take the named owner where nothing says whose it is. @default false */ readonly assigns?: boolean;
    },
  ): Promise<void>;
  /**
   * Side fields of the session whose names begin with `prefix`. Together with `writeSide` and `AppendRequest.side` this
   * is the capability `sideData`.
   *
   * Missing: `HistoryManager`, `RedisToolInvocationHistory` and `append()` with `side` throw a ConfigurationError.
   */
  readSide?(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>>;
  /** Writes side fields in one step and creates the session if needed; false if an expected value is not stored. */
  writeSide?(session: SessionRef, changes: SideWrite): Promise<boolean>;
  /**
   * Takes a session's lease (capability `leases`); returns its token, or undefined while another holds it.
   *
   * Missing: two processes may pay for two summaries at the same time, of which one is stored.
   */
  acquireLease?(session: SessionRef, ttlMs: number): Promise<string | undefined>;
  /** Gives the lease back if `token` still holds it. */
  releaseLease?(session: SessionRef, token: string): Promise<void>;
  /**
   * Lets a session that expires live for `ttlMs` from now (capability `expiry`); its place in lists follows. Nothing
   * changes, and the result is false, for a session that does not expire or does not exist, and for the guard of an
   * erased one.
   *
   * Missing: `refreshTTLOnRead` throws a ConfigurationError.
   */
  extendExpiry?(session: SessionRef, ttlMs: number): Promise<boolean>;
  /** Lists of sessions by owner. Missing: see {@link SessionIndex}. */
  readonly index?: SessionIndex;
  /** One turn of a session at a time, see {@link TurnQueue}. Missing: `withTurn` throws a ConfigurationError. */
  readonly turnQueue?: TurnQueue;
  /**
   * Pages of the log for a screen, figures, and the last reductions.
   *
   * Missing: `history.getPage()`, `stats()` and `getReductions()` throw a ConfigurationError.
   */
  readonly pages?: SessionPages;
  /** Sizes that the store refuses, for writers to refuse them before they count tokens. Missing: they refuse none. */
  readonly limits?: SizeLimits;
  /** Copies of sessions. Missing: `history.fork()` throws a ConfigurationError. */
  readonly forks?: SessionForks;
  /** Replaces stored texts by others that say the same. Missing: `encryption` throws a ConfigurationError. */
  readonly recordSwaps?: RecordSwaps;
  /** Whole sessions out and in. Missing: `export` and `import` of `memory.sessions` throw a ConfigurationError. */
  readonly transfers?: SessionTransfers;
  /**
   * Closes what this store opened. Later calls fail with a `StoreError` `closed`.
   *
   * Missing: nothing is closed. The package itself only closes stores that it made.
   */
  close?(): Promise<void>;
}

/** A store with all capabilities, such as `RedisSessionStore` and `InMemorySessionStore`. */
export type CompleteSessionStore = Required<Omit<SessionStore, "limits">> & Pick<SessionStore, "limits">;
