/**
 * Where conversations live. The contract in prose; `sessionStoreContract` in the `./testing` entry is the same contract
 * as tests.
 *
 * A session is a *log* of records (opaque strings, oldest first, numbered by *position* from 0 without gaps, never
 * changed), a *start* (the position from which the model sees the log as it is) and a *head* (an opaque string that
 * stands for what is shown before it). A store never looks inside a record, with one exception: a record whose text
 * begins with `{"type":"human"` begins a round.
 *
 * - Every method is atomic and makes one round trip (`rewind` and `rebuild`, and reading after another process rewound,
 *   may make more).
 * - A session exists from its first append or side write until `clear`, expiry, or a rewind to nothing. Its `epoch` is
 *   new each time.
 * - `rev` is a random token that is new after each reduction, rewind and rebuild; `next` only falls by a rewind.
 * - A method that fails with a {@link StoreError} `timeout` or `unavailable` may or may not have happened; repeating it
 *   is safe.
 * - A refused call has changed nothing.
 */
export interface SessionStore {
  /**
   * Adds records at the end of the log, contiguously, in order; records whose id the log holds already are not added
   * again.
   *
   * @throws ConflictError `content` (an id is stored with another digest, and `onConflict` is `error`), `position` or
   *   `epoch` (not as expected);
   *   StoreError `damaged`, `fenced`, `too_large` and what Redis answers.
   */
  append(sessionId: string, request: AppendRequest): Promise<AppendResult>;
  /** The head and the log from the start on. An unknown session is an empty view with epoch `""`. */
  readView(sessionId: string, options?: ReadViewOptions): Promise<SessionView>;
  /**
   * The last `count` rounds of the log, whole, also where they lie before the start; fewer where the log holds fewer.
   */
  readRounds(sessionId: string, count: number): Promise<StoredRounds>;
  /** Records of the log from position `from` (default: the oldest kept) on, `limit` at most (default: all). */
  readLog(sessionId: string, options?: { readonly from?: number; readonly limit?: number }): Promise<LogPage>;
  /** Moves the start and replaces the head if the session is as it was read; `stale` and no change if not. */
  commitReduction(sessionId: string, request: CommitRequest): Promise<"committed" | "stale">;
  /**
   * Removes all records from position `to` on if the session is as it was read. Before the start: the head empties and
   * the start goes to `base`.
   */
  rewind(sessionId: string, request: RewindRequest): Promise<"rewound" | "stale">;
  /** Forgets the session and its side fields. The next append begins a new life. */
  clear(sessionId: string): Promise<void>;
  /**
   * Derives all that is kept about a log anew from the log, so that a damaged session can be written again. Side
   * fields, and start and head where they still fit, are kept. `identify` gives a record's id and digest; undefined for
   * a record that cannot be read.
   */
  rebuild(sessionId: string, identify: (record: string, position: number) => RecordIdentity | undefined): Promise<void>;
  /** Side fields of the session whose names begin with `prefix`. */
  readSide(sessionId: string, prefix: string): Promise<Readonly<Record<string, string>>>;
  /**
   * Writes side fields in one step; false and no change if an expected value is not the stored one. Creates the session
   * if needed.
   */
  writeSide(sessionId: string, changes: SideWrite): Promise<boolean>;
  /** Takes the session's lease for `ttlMs` milliseconds: a token, or undefined while another holds it. */
  acquireLease(sessionId: string, ttlMs: number): Promise<string | undefined>;
  /** Gives the lease back if `token` still holds it. */
  releaseLease(sessionId: string, token: string): Promise<void>;
  /** Closes only what this store opened. Later calls fail with a {@link StoreError} `closed`. */
  close(): Promise<void>;
}

/**
 * What a store must know of a record besides its text: the message's id and a digest of its content (8 characters of
 * base64url).
 */
export interface RecordIdentity {
  readonly id: string;
  readonly digest: string;
}

/** A record to append; `tokens` is its count under the request's `counter`. */
export interface NewRecord extends RecordIdentity {
  readonly record: string;
  readonly tokens?: number;
}

/**
 * A size of the view. Messages are those of the head (`headCount`) plus the records from the start on; tokens count the
 * same.
 */
export interface ViewLimit {
  readonly messages?: number;
  readonly tokens?: number;
}

/**
 * Side fields to set and to remove. Names share a namespace of their own, apart from what the store keeps about the
 * session.
 */
export interface SideChanges {
  readonly set?: Readonly<Record<string, string>>;
  readonly remove?: readonly string[];
  /**
   * After the change, of the fields whose names begin with `prefix` only the `keep` last in byte order of their names
   * stay.
   */
  readonly bound?: { readonly prefix: string; readonly keep: number };
}

/**
 * A change of side fields on its own: nothing is written unless each field of `expected` holds that value (undefined:
 * is absent).
 */
export interface SideWrite extends SideChanges {
  readonly expected?: Readonly<Record<string, string | undefined>>;
  /** All keys of the session expire this many milliseconds from now; left out, the expiry stays as it is. */
  readonly ttlMs?: number;
}

/** One turn to append. */
export interface AppendRequest {
  readonly records: readonly NewRecord[];
  /** Refuse with `position` unless the log ends before this position. */
  readonly expectedNext?: number;
  /** Refuse with `epoch` unless the session is still in this life. */
  readonly expectedEpoch?: string;
  /** Refuse with `fenced` if a higher token was used before; remembered otherwise. */
  readonly fencingToken?: number;
  /** What to do when an id is stored with another digest: refuse all (default), or keep the first and go on. */
  readonly onConflict?: "error" | "keep";
  /**
   * All keys of the session expire this many milliseconds from now, server time; left out, the expiry stays as it is.
   */
  readonly ttlMs?: number;
  /** Id of the counter that made the `tokens`; the view's total is known only while every append uses the same. */
  readonly counter?: string;
  readonly side?: SideChanges;
  /**
   * Return the view if it is larger than this after the append, or if a token limit is given and the total is not
   * known.
   */
  readonly viewLimit?: ViewLimit;
}

/**
 * What an append did. `conflicts` are indexes of records that were left out because their id holds other content
 * (`onConflict: "keep"`).
 */
export interface AppendResult {
  readonly appended: number;
  readonly duplicates: number;
  readonly conflicts: readonly number[];
  readonly next: number;
  readonly epoch: string;
  readonly view?: SessionView;
}

/** How to read a view. */
export interface ReadViewOptions {
  /** True where nobody reduces this session: the start is then taken to be 0 at first. Only a matter of speed. */
  readonly neverReduced?: boolean;
}

/** The state of a session and the log from its start on. */
export interface SessionView {
  /** `""` where the session does not exist (then all else is empty or 0). */
  readonly epoch: string;
  readonly rev: string;
  /** Position of the oldest record that is kept; above 0 only after retention `discard`. */
  readonly base: number;
  readonly start: number;
  /** The position that the next record will get. */
  readonly next: number;
  /** As committed; `""` where there is none. */
  readonly head: string;
  readonly headCount: number;
  /** Tokens of head and log from the start under `counter`; undefined where not known. */
  readonly tokens: number | undefined;
  readonly counter: string;
  /** Records from `start` to `next`. Where `damaged`, what is left of them. */
  readonly records: readonly string[];
  /** True where a part of the session is missing; writes are refused until `rebuild` or `clear`. */
  readonly damaged: boolean;
}

/** The records of the last rounds. */
export interface StoredRounds {
  readonly records: readonly string[];
  /** Position of the first of them. */
  readonly from: number;
  /**
   * Number of the first round that begins among them, counted over the session's whole life; the session's first round
   * is 1.
   */
  readonly firstRound: number;
  readonly damaged: boolean;
}

/** A page of the log. */
export interface LogPage {
  readonly records: readonly string[];
  readonly from: number;
  readonly base: number;
  readonly next: number;
  readonly damaged: boolean;
}

/** A reduction to commit: `epoch`, `rev` and `next` as they were read. */
export interface CommitRequest {
  readonly epoch: string;
  readonly rev: string;
  readonly next: number;
  /** The new start, between `base` and `next`. */
  readonly start: number;
  readonly head: string;
  readonly headCount: number;
  /**
   * Tokens of the new head, and of the log from the new start to `next`, under `counter`. Records that were appended
   * since are added by the store.
   */
  readonly tokens?: number;
  readonly counter?: string;
  /**
   * `tokens` of the view as it was read, if its `counter` was the same: from it the store knows the tokens of records
   * that were appended since. Left out, a commit that other appends have overtaken leaves the total unknown.
   */
  readonly tokensRead?: number;
  /** Remove all records before the new start, and forget these ids of theirs. */
  readonly discard?: { readonly forget: readonly string[] };
}

/** A rewind: `epoch`, `rev` and `next` as they were read, and the ids of all records from `to` on. */
export interface RewindRequest {
  readonly epoch: string;
  readonly rev: string;
  readonly next: number;
  readonly to: number;
  readonly forget: readonly string[];
}
