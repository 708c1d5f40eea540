import type { MemoryError } from "../base/errors.js";
import { withoutUndefined } from "../base/options.js";
import type { SessionRef } from "./session-ref.js";

/** The caller of a method. With an owner, a session of another owner is refused. */
export interface SessionAccess {
  /** The calling owner. @default sessions of any owner */
  readonly owner?: string;
}

/**
 * Label of a session: title and metadata, texts that are opaque to the store. `listed` replaces `metadata` in lists if
 * that is too long.
 */
export interface SessionLabel {
  /** Title of the session. */
  readonly title?: string;
  /** Metadata of the application. */
  readonly metadata?: string;
  /** Shorter form of `metadata` for lists. */
  readonly listed?: string;
}

/** Tokens of stored answers of one model. Integers. */
export interface ModelUsage {
  /** The model's name. */
  readonly model: string;
  /** Tokens of the prompts. */
  readonly input: number;
  /** Tokens of the answers. */
  readonly output: number;
  /** Total as the provider reports it. */
  readonly total: number;
}

/** A list's summary of a session. Times are milliseconds since 1970, server time. */
export interface SessionSummary {
  /** The session's id. */
  readonly sessionId: string;
  /** Title and metadata; empty if the session has none. */
  readonly label: SessionLabel;
  /** When the session was created; for a session of an older release, the time of the last write. */
  readonly createdAt: number;
  /** When it was last written. */
  readonly updatedAt: number;
  /** Messages of the transcript. */
  readonly messages: number;
  /** Rounds that have begun. */
  readonly rounds: number;
  /** Tokens of the view; undefined where not known. */
  readonly tokens?: number;
  /** By model, in the order of their first answers; undefined if none was counted. */
  readonly usage?: readonly ModelUsage[];
  /** When it expires; undefined for a session that does not. */
  readonly expiresAt?: number;
}

/** Details of a session: summary, owner and label version. */
export interface SessionDetails extends SessionSummary {
  /** Owner of the session, if it has one. */
  readonly owner?: string;
  /** A token, new with each change of the label; `""` for a session that never had one. */
  readonly labelVersion: string;
}

/** A page of an owner's sessions, newest first. */
export interface SessionsPage {
  /** The sessions of the page. */
  readonly sessions: readonly SessionSummary[];
  /** Pass it as `before` for the next page; undefined on the last one. */
  readonly next?: number;
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

/** The most sessions in one page of a list. */
export const maxListLimit = 1_000;

/** Cardinality limit of the usage by model; further models are counted as `other`. */
export const maxUsageModels = 32;

/**
 * Lists of sessions by owner. Owner, label and times are stored in the session, the source of truth; lists are an
 * eventually consistent index. A store with this group honours `owner` and `label` of a {@link SessionRef}, and
 * `NewRecord.usage`.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 * const usage = { model: "gpt-4o-mini", input: 12, output: 3, total: 15 };
 * const session = { id: "chat-7", owner: "user-1", label: { title: "Oslo" } };
 * await store.append(session, { records: [{ ...hello, usage }] });
 * const { sessions } = await store.lists.list("user-1", { limit: 30 });
 * const { labelVersion: version = "" } = (await store.lists.describe(session)) ?? {};
 * await store.lists.relabel(session, { label: { title: "Trip to Oslo" }, version });
 * console.log(sessions[0]?.usage?.[0]?.total); // 15
 */
export interface SessionLists {
  /**
   * A page of the sessions of an owner, newest first by their last write. One round trip from the index; with `verify`
   * each session of the page is read, and stale entries are repaired.
   */
  list(
    owner: string,
    request: {
      /** Sessions of the page, 1 to `maxListLimit`. */
      readonly limit: number;
      /** The `next` of the page before. @default the first page */
      readonly before?: number;
      /** True to read each session of the page. @default false */
      readonly verify?: boolean;
    },
  ): Promise<SessionsPage>;
  /** The number of sessions in the owner's list. One round trip. */
  count(owner: string): Promise<number>;
  /** The details of a session; undefined if it does not exist. One round trip. */
  describe(session: SessionRef): Promise<SessionDetails | undefined>;
  /** Replaces the label by compare-and-set of its version; `missing` if the session does not exist. */
  relabel(
    session: SessionRef,
    request: {
      /** The whole new label. */
      readonly label: SessionLabel;
      /** The `labelVersion` that was read. */
      readonly version: string;
    },
  ): Promise<"changed" | "stale" | "missing">;
  /**
   * Erases a session and its entries in lists; false if there was none. Leaves a tombstone, by which every write fails
   * with a StoreError `erased` for `guardMs`.
   */
  erase(
    session: SessionRef,
    request: {
      /** Milliseconds for which writes are refused. */
      readonly guardMs: number;
    },
  ): Promise<boolean>;
  /**
   * Erases every session of an owner, also those missing from the list, while writers continue. Returns their number.
   * Resumable: repeat it after a failure.
   */
  eraseOwner(
    owner: string,
    request: {
      /** Milliseconds for which writes to the erased sessions are refused. */
      readonly guardMs: number;
      /** Called after each batch with the number of erased sessions. */
      readonly onProgress?: (progress: ListsProgress) => void;
    },
  ): Promise<number>;
  /** The ids of all sessions, or of those of an owner, each once, in no order; scans all keys. */
  scan(access?: SessionAccess): AsyncIterable<string>;
  /** Rebuilds every list from the sessions. Returns the number of sessions that were read. */
  reindex(options?: ListsReindex): Promise<number>;
  /** Resolves when lists show all writes of this process. */
  flush(): Promise<void>;
}

/** The list's summary of a session: with the shorter metadata, and without the owner. */
export function listedSummary({ owner: _owner, labelVersion: _version, ...summary }: SessionDetails): SessionSummary {
  const { title, metadata, listed } = summary.label;
  return { ...summary, label: withoutUndefined({ title, metadata: listed ?? metadata }) };
}
