import type {
  AppendResult,
  IdentifyRecord,
  RecordIdentity,
  ReplaceTailRequest,
  RewindRequest,
} from "./session-writes.js";
import type { SessionRef } from "./session-ref.js";

/**
 * Changes of stored records; all other methods only append. One group, because each has to keep the same indexes
 * consistent: ids, turns, rounds and the names of keys. A store with this group also honours `keys` of a {@link
 * SessionRef} in every write.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 * await store.append({ id: "chat-7" }, { records: [hello] });
 * const key = "2026.x3Rk90aB"; // the name of a key, not the key
 * const pass = await store.edits.beginSwaps({ id: "chat-7", keys: { current: key, known: [key] } });
 * if (pass !== undefined) {
 *   const records = [{ position: 0, was: hello.record, text: "the same, sealed" }];
 *   console.log(await store.edits.swapRecords({ id: "chat-7" }, { epoch: pass.epoch, records })); // 1
 *   await store.edits.finishSwaps({ id: "chat-7" }, pass, key);
 * }
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
  /**
   * Begins a re-encryption pass, which replaces stored texts by equivalent ones while writers continue. Undefined for a
   * session that does not exist. The caller's `keys.current` counts as a key of the session from then on.
   *
   * @throws StoreError `damaged`; EncryptionError if the session needs a key that the caller does not name.
   */
  beginSwaps(session: SessionRef): Promise<SwapPass | undefined>;
  /** Replaces the texts that are still as they were read, and counts them; none if the session was recreated. */
  swapRecords(session: SessionRef, request: SwapRequest): Promise<number>;
  /** Ends a pass: the session needs `key` only. False, and no change, if another key wrote since the pass began. */
  finishSwaps(session: SessionRef, pass: SwapPass, key: string): Promise<boolean>;
}

/** How to rebuild a session. */
export interface RebuildOptions {
  /** True to assign the named owner to a session whose owner is lost. @default false */
  readonly assigns?: boolean;
}

/** A re-encryption pass over a session. */
export interface SwapPass {
  /** The session's epoch when the pass began. */
  readonly epoch: string;
  /** The stored key names, with the pass's mark. */
  readonly mark: string;
  /** Texts beside the log at the beginning of the pass, by name: `head`, and side fields as `side:<name>`. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Texts to replace; at most a hundred keep a server busy for three milliseconds. */
export interface SwapRequest {
  /** The epoch of the pass; nothing is replaced under another. */
  readonly epoch: string;
  /** Records of the log to replace. */
  readonly records: readonly RecordSwap[];
  /** Fields beside the log to replace. @default none */
  readonly fields?: readonly {
    /** The field's name, as in `SwapPass.fields`. */
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
