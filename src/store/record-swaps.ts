import type { WriterKeys } from "./writer-keys.js";

/**
 * Puts other texts in the place of stored ones that say the same, beside writers: what re-encryption needs. A store
 * with this capability also honours `keys` in every request that takes them.
 *
 * Missing: the option `encryption` throws a ConfigurationError.
 */
export interface RecordSwaps {
  /**
   * Begins a pass over a session; undefined for one that does not exist. `keys.current` counts as a key of the session
   * from then on.
   *
   * @throws StoreError `damaged`; EncryptionError if the session needs a key that the caller does not name.
   */
  begin(sessionId: string, keys: WriterKeys): Promise<SwapPass | undefined>;
  /** Replaces the texts that are still as they were read, and counts them; none if the session was recreated. */
  swap(sessionId: string, request: SwapRequest): Promise<number>;
  /** Ends a pass: the session needs `key` only. False, and no change, if another key wrote since the pass began. */
  finish(sessionId: string, pass: SwapPass, key: string): Promise<boolean>;
}

/** A pass over a session. */
export interface SwapPass {
  readonly epoch: string;
  /** What was noted of keys, with the pass's mark. */
  readonly mark: string;
  /** What stands beside the log when the pass begins, by name: `head`, and side fields as `side:<name>`. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Texts to replace; at most a hundred keep a server busy for three milliseconds. */
export interface SwapRequest {
  readonly epoch: string;
  readonly records: readonly RecordSwap[];
  readonly fields?: readonly { readonly name: string; readonly was: string; readonly text: string }[];
}

/** A record to replace; the digest of its id, if `identity` is given, where that id stands at this position. */
export interface RecordSwap {
  readonly position: number;
  readonly was: string;
  readonly text: string;
  readonly identity?: { readonly id: string; readonly digest: string };
}
