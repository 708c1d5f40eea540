import type { AppendResult, IdentifyRecord, ReplaceTailRequest, RewindRequest } from "./session-writes.js";
import type { SessionRef } from "./session-ref.js";
import type { StoredKey } from "./writer-keys.js";

/** Changes of stored records, with their indexes; all other methods only append. */
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
      readonly was: StoredKey;
      /** The same data key, wrapped by another master key. */
      readonly now: StoredKey;
    },
  ): Promise<boolean>;
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
