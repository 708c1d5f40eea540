import type { SessionRef } from "./session-ref.js";

/**
 * Puts other texts in the place of stored ones that say the same, beside writers: what re-encryption needs. A store
 * with this capability also honours `keys` in every request that takes them.
 *
 * Missing: the option `encryption` throws a ConfigurationError.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 * await store.append({ id: "chat-7" }, { records: [hello] });
 * const key = "2026.x3Rk90aB"; // the name of a key, not the key
 * const pass = await store.recordSwaps.begin({ id: "chat-7", keys: { current: key, known: [key] } });
 * if (pass !== undefined) {
 *   const records = [{ position: 0, was: hello.record, text: "the same, sealed" }];
 *   console.log(await store.recordSwaps.swap({ id: "chat-7" }, { epoch: pass.epoch, records })); // 1
 *   await store.recordSwaps.finish({ id: "chat-7" }, pass, key);
 * }
 */
export interface RecordSwaps {
  /**
   * Begins a pass over a session; undefined for one that does not exist. The caller's `keys.current` counts as a key of
   * the session from then on.
   *
   * @throws StoreError `damaged`; EncryptionError if the session needs a key that the caller does not name.
   */
  begin(session: SessionRef): Promise<SwapPass | undefined>;
  /** Replaces the texts that are still as they were read, and counts them; none if the session was recreated. */
  swap(session: SessionRef, request: SwapRequest): Promise<number>;
  /** Ends a pass: the session needs `key` only. False, and no change, if another key wrote since the pass began. */
  finish(session: SessionRef, pass: SwapPass, key: string): Promise<boolean>;
}

/** A pass over a session. */
export interface SwapPass {
  /** The session's epoch when the pass began. */
  readonly epoch: string;
  /** What was noted of keys, with the pass's mark. */
  readonly mark: string;
  /** What stands beside the log when the pass begins, by name: `head`, and side fields as `side:<name>`. */
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

/** A record to replace; the digest of its id, if `identity` is given, where that id stands at this position. */
export interface RecordSwap {
  /** The record's place in the log. */
  readonly position: number;
  /** The text that was read; another one stays as it is. */
  readonly was: string;
  /** The text to put in its place. */
  readonly text: string;
  /** The record's id and its new digest; left out where the digest stays as it is. */
  readonly identity?: {
    /** The message's id. */
    readonly id: string;
    /** The digest to store for that id. */
    readonly digest: string;
  };
}
