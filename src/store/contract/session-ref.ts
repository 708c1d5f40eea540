import * as z from "zod/mini";
import { fitsBytes } from "../../base/bounds.js";
import { ConfigurationError, type MemoryError } from "../../base/errors.js";
import { nonEmptyText } from "../../base/options.js";

/**
 * A session and the rights of its caller, which a store checks before everything else: the first argument of every
 * method that concerns one session. A call that is refused changes nothing.
 */
export interface SessionRef {
  /** The session's id, 1 to 512 bytes. */
  readonly id: string;
  /**
   * The calling owner. A session of another owner is refused with a ConflictError `other_owner`, for reads and writes
   * alike; a write claims a session that has no owner. @default sessions of any owner
   */
  readonly owner?: string;
  /** The label that a write gives a session that never had one; later it changes by `relabel` only. */
  readonly label?: SessionLabel;
  /** The hold within which the call writes. Reads pass without it. */
  readonly hold?: SessionHold;
  /**
   * The data key of a caller that encrypts. A call to a session that has another is refused with an EncryptionError,
   * also without `keys`. Reads return encrypted texts as they are stored.
   */
  readonly keys?: WriterKeys;
}

/** Preconditions of a write: it does not pass once the epoch has ended, or a later hold has begun. */
export interface SessionHold {
  /** A write is refused with `epoch` unless this is the session's epoch; `""` means that it must not exist. */
  readonly epoch: string;
  /**
   * Fencing token, higher than that of every earlier hold: a write is refused with `fenced` if a higher one was used
   * before; an append stores it otherwise. @default only the epoch is compared
   */
  readonly token?: number;
}

/** The most bytes of UTF-8 in what clients may name: ids of turns, messages and positions; texts to search for. */
export const mostBytes = { id: 512, search: 1_000 } as const;

/** A text of at least one character and at most so many bytes. */
export const limitedText = (limit: keyof typeof mostBytes) =>
  nonEmptyText().check(
    z.refine((text) => fitsBytes(text, mostBytes[limit]), `must have at most ${mostBytes[limit]} bytes of UTF-8`),
  );

/**
 * Encodes a session id for keys: everything but `A-Z a-z 0-9 . _ ~ -` is percent-encoded, so that different ids never
 * share a key and no id can break out of the hash tag.
 *
 * @throws ConfigurationError `sessionId` as {@link checkSessionId}.
 */
export function encodeSessionId(sessionId: string): string {
  checkSessionId(sessionId);
  if (/^[\w.~-]+$/.test(sessionId)) {
    return sessionId;
  }
  return encodeURIComponent(sessionId).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Inverse of {@link encodeSessionId}; undefined for what it never returns, as in a key that only looks like one. */
export function decodeSessionId(encoded: string): string | undefined {
  try {
    const id = decodeURIComponent(encoded);
    return encodeSessionId(id) === encoded ? id : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Rejects a session id that is not a string, is empty, takes more than 512 bytes, or holds half of a surrogate pair
 * (which has no encoding in UTF-8).
 *
 * @throws ConfigurationError `sessionId`.
 */
export function checkSessionId(sessionId: unknown): asserts sessionId is string {
  if (typeof sessionId !== "string") {
    throw new ConfigurationError(
      "sessionId",
      `The session id must be a string; got ${sessionId === null ? "null" : typeof sessionId}.`,
    );
  }
  if (sessionId === "") {
    throw new ConfigurationError("sessionId", "The session id must not be empty.");
  }
  if (!fitsBytes(sessionId, mostBytes.id)) {
    throw new ConfigurationError("sessionId", `The session id must not be longer than ${mostBytes.id} bytes in UTF-8.`);
  }
  if (!sessionId.isWellFormed()) {
    throw new ConfigurationError(
      "sessionId",
      "The session id must be well-formed Unicode; it holds half of a surrogate pair.",
    );
  }
}

/** The data key of a session as it is stored: wrapped by a master key. */
export interface StoredKey {
  /**
   * Its name and the id of the master key, with a space between them; the mark of the owner that it is bound to, if it
   * is; `plain` where plain text is left.
   */
  readonly key: string;
  readonly dek: string;
}

/**
 * The data key of a caller that encrypts. A session has one, from its first encrypted write on; a call by anybody else
 * that reads or writes texts is refused.
 */
interface WriterKeys {
  /** The name of the key with which the texts of the call are sealed; left out by a caller that does not know it. */
  readonly name?: string;
  /** The key itself, of a writer that made it: a session without one takes it. */
  readonly made?: StoredKey;
  /** Called by a read with the key of the session. */
  readonly learn?: (stored: StoredKey) => void;
}

/** The parts of a stored key. */
export function keyParts({ key }: StoredKey): {
  readonly name: string;
  readonly masterId: string;
  /** `""` for a key that is bound to no owner. */
  readonly mark: string;
  readonly hasPlain: boolean;
} {
  const [name = "", masterId = "", ...words] = key.split(" ");
  return { name, masterId, mark: words.find((word) => word !== "plain") ?? "", hasPlain: words.includes("plain") };
}

/** The stored key in the text of a refusal; undefined where the session has none. */
export function storedKeyFrom(text: string): StoredKey | undefined {
  const end = text.lastIndexOf(" ");
  return end <= 0 ? undefined : { key: text.slice(0, end), dek: text.slice(end + 1) };
}

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
