import type {
  AppendResult,
  IdentifyRecord,
  RecordIdentity,
  ReplaceTailRequest,
  RewindRequest,
} from "./session-writes.js";
import type { SessionRef } from "./session-ref.js";
import type { StoredKey } from "./writer-keys.js";

/**
 * Changes of stored records; all other methods only append. One group, because each has to keep the same indexes
 * consistent: ids, turns and rounds.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 * const { epoch } = await store.append({ id: "chat-7" }, { records: [hello] });
 * const records = [{ position: 0, was: hello.record, text: "the same, sealed" }];
 * console.log(await store.edits.swapRecords({ id: "chat-7" }, { epoch, records })); // 1
 */
export interface SessionEdits {
  /**
   * Removes all records from position `to` on if the session is as it was read. Before the start, and at the start
   * where the head is empty: the head empties and the start goes to `base`, so that the view shows what is left.
   */
  rewind(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale">;
  /** Rewinds and appends in one step, if the session is as it was read; else changes nothing (`stale`). */
  replaceTail(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale">;
  /**
   * Derives everything that is kept about a log from the log, so that a damaged session can be written again. Keeps
   * side fields, and start and head where they still fit. `identify` returns a record's id and digest, or undefined for
   * a record that cannot be read. Owner and label are restored from the remaining data; if the owner is lost, a call
   * that names an owner is refused as `damaged`, unless it `assigns` that owner, as an operator may.
   */
  rebuild(session: SessionRef, identify: IdentifyRecord, options?: RebuildOptions): Promise<void>;
  /** The session's epoch and data key, also of a session that lost a part; undefined if it does not exist. */
  readKey(session: SessionRef): Promise<SessionKeyState | undefined>;
  /** Replaces the wrapped data key if it is as it was read; else changes nothing and returns false. */
  rewrapKey(
    session: SessionRef,
    request: {
      /** The key as it was read. */
      readonly was: StoredKey;
      /** The same data key, wrapped by another master key. */
      readonly now: StoredKey;
    },
  ): Promise<boolean>;
  /**
   * Replaces the texts that are still as they were read, and counts them; none if the session was recreated. A session
   * without a data key takes that of the caller.
   */
  swapRecords(session: SessionRef, request: SwapRequest): Promise<number>;
}

/** How to rebuild a session. */
export interface RebuildOptions {
  /** True to assign the named owner to a session whose owner is lost. @default false */
  readonly assigns?: boolean;
}

/** Epoch and data key of a session. */
export interface SessionKeyState {
  /** `""` if it is lost. */
  readonly epoch: string;
  /** Undefined for a session of plain text. */
  readonly stored: StoredKey | undefined;
}

/** Texts to replace; at most a hundred keep a server busy for three milliseconds. */
export interface SwapRequest {
  /** The epoch that was read; nothing is replaced under another. */
  readonly epoch: string;
  /** Records of the log to replace. */
  readonly records: readonly RecordSwap[];
  /** Fields beside the log to replace. @default none */
  readonly fields?: readonly {
    /** `head`, `title`, `metadata`, or the name of a side field behind `side:`. */
    readonly name: string;
    /** The text that was read; another one stays as it is. */
    readonly was: string;
    /** The text to put in its place. */
    readonly text: string;
  }[];
}

/** A record to replace, by compare-and-set; with `identity` also its digest in the index of ids. */
export interface RecordSwap {
  /** The record's place in the log. */
  readonly position: number;
  /** The text that was read; another one stays as it is. */
  readonly was: string;
  /** The text to put in its place. */
  readonly text: string;
  /** The record's id and its new digest; left out where the digest stays as it is. */
  readonly identity?: RecordIdentity;
}
