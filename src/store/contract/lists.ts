import type { MemoryError } from "../../base/errors.js";
import type { SessionRef } from "./session-ref.js";
import type { StoredKey } from "./writer-keys.js";

/** The caller of a method. With an owner, a session of another owner is refused. */
export interface SessionAccess {
  /** The calling owner. @default sessions of any owner */
  readonly owner?: string;
}

/** Label of a session: title and metadata, texts that are opaque to the store. */
export interface SessionLabel {
  readonly title?: string;
  /** Metadata of the application. */
  readonly metadata?: string;
}

/** Tokens of stored answers of one model. Integers. */
export interface ModelUsage {
  readonly model: string;
  readonly input: number;
  readonly output: number;
  /** Total as the provider reports it. */
  readonly total: number;
}

/** A list's summary of a session. Times are milliseconds since 1970, server time. */
export interface SessionSummary {
  readonly sessionId: string;
  readonly label: SessionLabel;
  /** When the session was created; for a session of an older release, the time of the last write. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly messages: number;
  readonly rounds: number;
  readonly tokens?: number;
  /** By model, in the order of their first answers; undefined if none was counted. */
  readonly usage?: readonly ModelUsage[];
  readonly expiresAt?: number;
  readonly key?: StoredKey;
}

/** Details of a session: summary, owner and label version. */
export interface SessionDetails extends SessionSummary {
  readonly owner?: string;
  /** A token, new with each change of the label; `""` for a session that never had one. */
  readonly labelVersion: string;
}

/** The place of an entry in a list, which is sorted by score, and by member where scores are equal. */
export interface ListPlace {
  readonly score: number;
  readonly member: string;
}

/** A page of an owner's sessions, newest first. */
export interface SessionsPage {
  /** The sessions of the page; fewer than `limit` where entries name ended ones. Empty only on the last page. */
  readonly sessions: readonly SessionSummary[];
  /** Pass it as `before` for the next page; undefined on the last one. */
  readonly next?: ListPlace;
}

/** Progress of an erasure or a reindexing. */
export interface ListsProgress {
  /** Sessions erased, or read, so far. */
  readonly sessions: number;
}

/** Receivers of a reindexing. */
export interface ListsReindex {
  /** Called after each batch with the number of sessions that were read. */
  readonly onProgress?: ((progress: ListsProgress) => void) | undefined;
  /** Receives each session that cannot be read; its entry is left as it is. @default the error is thrown */
  readonly onProblem?: ((problem: { readonly sessionId: string; readonly error: MemoryError }) => void) | undefined;
}

/** How long tombstones of erased data stay by default, in milliseconds. */
export const defaultGuardMs = 600_000;

/** The most sessions in one page of a list. */
export const maxListLimit = 1_000;

/** Cardinality limit of the usage by model; further models are counted as `other`. */
export const maxUsageModels = 32;

/** Lists of sessions by owner: they may name a session that has ended, which is not shown, and miss none. */
export interface SessionLists {
  /** A page of the sessions of an owner, newest first by their last write. Two round trips. */
  list(owner: string, request: { readonly limit: number; readonly before?: ListPlace }): Promise<SessionsPage>;
  /** The number of entries in the owner's list: an upper bound of that of its sessions. One round trip. */
  count(owner: string): Promise<number>;
  /** The details of a session; undefined if it does not exist. One round trip. */
  describe(session: SessionRef): Promise<SessionDetails | undefined>;
  /** Replaces the label by compare-and-set of its version; `missing` if the session does not exist. */
  relabel(
    session: SessionRef,
    request: { readonly label: SessionLabel; readonly version: string },
  ): Promise<"changed" | "stale" | "missing">;
  /**
   * Erases a session and its entries in lists; false if there was none. Leaves a tombstone, by which every write fails
   * with a StoreError `erased` for `guardMs`.
   */
  erase(session: SessionRef, request: { readonly guardMs: number }): Promise<boolean>;
  /** Erases every session of owners while writers continue, and returns their number. Repeat a failed call. */
  eraseOwners(request: ErasedOwners): Promise<number>;
  /** The ids of all sessions, or of those of an owner, each once, in no order; scans all keys. */
  scan(access?: SessionAccess): AsyncIterable<string>;
  /** Rebuilds every list from the sessions. Returns the number of sessions that were read. */
  reindex(options?: ListsReindex): Promise<number>;
  /** Resolves when nothing of this process is on its way to lists. */
  flush(): Promise<void>;
}

/** The owners of sessions to erase. */
export interface ErasedOwners {
  readonly owners: readonly string[];
  /** Milliseconds for which writes to the erased sessions are refused. */
  readonly guardMs: number;
  /** True to scan all keys, once for all owners, for what their lists lack. */
  readonly unlisted: boolean;
  /** Called after each batch with the number of erased sessions. */
  readonly onProgress?: (progress: ListsProgress) => void;
}

/** The part of the details that a list shows. */
export function summaryOf({ owner: _owner, labelVersion: _version, ...summary }: SessionDetails): SessionSummary {
  return summary;
}
