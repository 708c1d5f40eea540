import type { LegacyMessage } from "../../src/store/codec/read-legacy-messages.js";

/** A session that is to be copied. */
export interface SourceSession {
  /** The id that the copy gets. */
  readonly sessionId: string;
  /** Its origin: a key, or a file. */
  readonly place: string;
  /** Seconds that it still lives; undefined if it does not expire. */
  readonly ttl: number | undefined;
  /** Its messages with their sources, oldest first, in pages; `onSkipped` is called with what cannot be read. */
  pages(onSkipped: (skipped: Skipped) => void): AsyncIterable<readonly LegacyMessage[]>;
  /** Removes it if it holds this many messages, and none was added meanwhile; undefined where that cannot be done. */
  readonly remove: ((messages: number) => Promise<boolean>) | undefined;
}

/** An element that cannot be read. */
export interface Skipped {
  readonly place: string;
  /** Counted from the oldest, which is 0. */
  readonly index: number;
  readonly reason: string;
}
