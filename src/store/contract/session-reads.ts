import type { TurnMark } from "./session-writes.js";
import type { SessionHold } from "./session-ref.js";

/** How to read a view. */
export interface ReadViewOptions {
  /** True if this session is never reduced: the store then tries start 0 first. A hint for speed only. */
  readonly neverReduced?: boolean;
  /** Message ids to look up in the same round trip. */
  readonly ids?: readonly string[];
  readonly turn?: string;
  /**
   * Acquire the hold in the same step, as `acquireHold` does, unless the `turn` is stored with its answer. If
   * the ticket is queued, the view is empty and `place` holds its place.
   */
  readonly take?: HoldRequest;
}

/** The state of a session and the log from its start on. */
export interface SessionView {
  /** `""` if the session does not exist (then all else is empty or 0). */
  readonly epoch: string;
  /** New after each reduction, rewind and rebuild. */
  readonly rev: string;
  /** Position of the oldest record that is kept; above 0 only after retention `discard`. */
  readonly base: number;
  readonly start: number;
  readonly next: number;
  /** As committed; `""` if there is none. */
  readonly head: string;
  readonly headCount: number;
  /** Tokens of head and log from the start under `counter`; undefined if not known. */
  readonly tokens: number | undefined;
  readonly counter: string;
  /** Records from `start` to `next`. If `damaged`, those that are left. */
  readonly records: readonly string[];
  /** True if a part of the session is missing; writes are refused until `rebuild` or `clear`. */
  readonly damaged: boolean;
  /** For each id that was asked for, the position of its record; undefined if the log does not hold it. */
  readonly positions?: readonly (number | undefined)[];
  /** The mark of the turn that was asked for; undefined for an unknown turn. */
  readonly turn?: TurnMark;
  /** Result of `take`: the hold, or the place in the queue; undefined if none was needed. */
  readonly place?: HoldPlace;
}

/** The version of a session that was read: a write that names it is `stale` if the session has changed since. */
export interface ReadState {
  readonly epoch: string;
  readonly rev: string;
  readonly next: number;
  /**
   * Id of the message at `next - 1`: it differs if a failover restored an older log to which others have appended.
   * @default not compared
   */
  readonly lastId?: string;
}

/** The view of a session that does not exist. */
export function emptyView(): SessionView {
  const numbers = { base: 0, start: 0, next: 0, headCount: 0 };
  return { epoch: "", rev: "", ...numbers, head: "", tokens: undefined, counter: "", records: [], damaged: false };
}

/** A holder's ticket and the duration of its lease. */
export interface HeldTicket {
  /** A random token that the holder chooses: 1 to 64 characters of base64url. */
  readonly ticket: string;
  /** Duration of the lease from now, in milliseconds. */
  readonly holdMs: number;
  /** The session's time to live: the session does not expire while the hold is taken and renewed in time. */
  readonly ttlMs?: number;
}

/** A request for the hold of a session. */
export interface HoldRequest extends HeldTicket {
  /** Milliseconds after which a waiter that no longer polls loses its place. */
  readonly graceMs: number;
}

/** The hold, or the place in the queue. */
export type HoldPlace =
  | {
      readonly isHeld: true;
      /** Epoch and fencing token for the holder's writes, in their {@link SessionRef}. */
      readonly hold: Required<SessionHold>;
    }
  | {
      readonly isHeld: false;
      /** Waiting tickets ahead of this one, without the holder's. */
      readonly ahead: number;
    };

/**
 * A record that a store keeps in memory: the same object for as long as the record stays in the log. Readers of the
 * same text note here what they made of it, and hand out copies only.
 */
export interface KeptRecord {
  made: unknown;
  /** True where the session was read more than once, so that it will probably be read again. */
  readonly isReadOften: boolean;
  /** The plain text, from the reader that decrypted it last. */
  opened?: OpenedRecord;
}

/** A decrypted record, for nobody but who reads with the same keys. */
interface OpenedRecord extends KeptRecord {
  readonly keys: object;
  readonly text: string;
}

/** The kept records of a view. */
export interface KeptRecords {
  readonly list: KeptRecord[];
  /** The records of the wrapped store from which these were made. */
  readonly source?: KeptRecords;
  /** True if a record could not be read: the store asks for all again, so that a repair by hand is seen. */
  isRefused: boolean;
  /** True once a reader may hold the list of texts: then it grows no more. */
  isLent: boolean;
  /** True once a reader found that all of them are shown as they stand, behind an empty head. */
  isShownAsStored?: boolean;
  /** The plain texts of all, from the reader that decrypted them last. */
  opened?: { readonly keys: object; readonly texts: readonly string[] };
}

/** The kept records of texts that a read returned, in the same order, by the list of texts; not all are kept. */
export const keptRecords = new WeakMap<readonly string[], KeptRecords>();

/** Says that a record could not be read. */
export function refuseKept(records: KeptRecords | undefined): void {
  for (let each = records; each !== undefined; each = each.source) {
    each.isRefused = true;
  }
}
