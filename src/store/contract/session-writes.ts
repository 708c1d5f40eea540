import type { ViewLimit } from "../../conversation/reducers/view-limit.js";
import type { HoldPlace, HoldRequest } from "./holds.js";
import type { ModelUsage } from "./lists.js";
import type { ReadState, SessionView } from "./session-reads.js";
import type { SideChanges, SideWrite } from "./side-fields.js";
import type { LessenedTurn, StoredTurn, TurnClaim, TurnOfRecord } from "./turns.js";

/** Returns a record's id, digest and turn; undefined for a record that cannot be read. */
export type IdentifyRecord = (record: string, position: number) => IdentifiedRecord | undefined;

/** Identity of a record for `rebuild`; `turn` is undefined if it has none. */
export interface IdentifiedRecord extends RecordIdentity {
  readonly turn?: TurnOfRecord;
}

/** Identity of a record: the message's id and a digest (8 characters of base64url). */
export interface RecordIdentity {
  /** The message's id; not empty. */
  readonly id: string;
  /** A hash of the message's content: equal for equal content. */
  readonly digest: string;
}

/** A record to append; `tokens` is its count under the request's `counter`. */
export interface NewRecord extends RecordIdentity {
  readonly record: string;
  /** The plain text of a sealed record, with the keys that sealed it: for the view that is kept, and not stored. */
  readonly opened?: { readonly keys: object; readonly text: string };
  /** Another digest under which the id may be stored, as that of a plain record. */
  readonly otherDigest?: string;
  /** The message's tokens; 0 or more. Left out without a counter. */
  readonly tokens?: number;
  /** Token usage, added to the model's total if the record is new. */
  readonly usage?: ModelUsage;
}

/** One turn to append. */
export interface AppendRequest {
  readonly records: readonly NewRecord[];
  /** Refuse with `position` unless the log ends before this position. */
  readonly expectedNext?: number;
  /** Policy for an id stored with another digest: refuse all (default), or keep the first and continue. */
  readonly onConflict?: "error" | "keep";
  /**
   * All keys of the session expire this many milliseconds from now, server time; left out, the expiry stays as it is.
   */
  readonly ttlMs?: number;
  /** Id of the counter that made the `tokens`; the view's total is known only while every append uses the same. */
  readonly counter?: string;
  /** Side fields to change in the same step. @default none */
  readonly side?: SideChanges;
  /**
   * Return the view if it is larger than this after the append, or if a token limit is given and the total is not
   * known.
   */
  readonly viewLimit?: ViewLimit;
  /** The turn that the records belong to. Checked before everything but damage. */
  readonly turn?: TurnClaim;
  /**
   * Acquire the hold in the same step, as `acquireHold` does; `place` of the result holds the outcome. If the
   * ticket is queued, nothing is appended. A turn that is stored with its answer acquires no hold. Refused for a
   * session with a `hold`.
   */
  readonly take?: HoldRequest;
  /** A ticket whose hold is released in the same step, if the result has no `turn`. */
  readonly release?: string;
}

/** An append that replaces the end of the log. `records` must not be empty. */
export interface ReplaceTailRequest extends AppendRequest {
  /** Records to remove. Their ids count as not stored. */
  readonly cut: RewindRequest;
}

/** Any write of the log or of side fields, as both stores carry it out: one append, of which parts may be left out. */
export interface LogWrite extends AppendRequest, Partial<Pick<ReplaceTailRequest, "cut">> {
  readonly side?: SideChanges & Pick<SideWrite, "expected">;
}

/**
 * Result of an append. `conflicts` are indexes of records that were skipped because their id is stored with other
 * content (`onConflict: "keep"`).
 */
export interface AppendResult {
  readonly appended: number;
  readonly duplicates: number;
  /** Ascending; empty unless the request says `keep`. */
  readonly conflicts: readonly number[];
  readonly next: number;
  /** The session's epoch; new where the append created the session. */
  readonly epoch: string;
  /** The view after the append, where `viewLimit` asked for it. */
  readonly view?: SessionView;
  /** Set if the request's `turn` did not fit what is stored of it: nothing was written. */
  readonly turn?: StoredTurn;
  /** Result of `take`: the hold, or the place in the queue; undefined if none was needed. */
  readonly place?: HoldPlace;
}

/** A reduction to commit. Records that were appended since the read stay. */
export interface CommitRequest extends ReadState {
  /** The new start, between `base` and `next`. */
  readonly start: number;
  readonly head: string;
  readonly headCount: number;
  /**
   * Tokens of the new head, and of the log from the new start to `next`, under `counter`. Records that were appended
   * since are added by the store.
   */
  readonly tokens?: number;
  readonly counter?: string;
  /**
   * `tokens` of the view as it was read, if its `counter` was the same: from it the store knows the tokens of records
   * that were appended since. Left out, a commit that other appends have overtaken leaves the total unknown.
   */
  readonly tokensRead?: number;
  /** The reducer's limit in tokens, to be remembered with the reduction. */
  readonly maxTokens?: number;
  /** Remove all records before the new start; their ids and turns go on counting as stored. @default false */
  readonly discard?: boolean;
}

/** A rewind: where the log is cut, and the ids of all records from there on. */
export interface RewindRequest extends ReadState {
  readonly to: number;
  /** Message ids of the records to remove; they count as not stored afterwards. */
  readonly forget: readonly string[];
  /** Every turn that loses a record. @default none */
  readonly turns?: readonly LessenedTurn[];
}

/** Wildcard digest of a discarded message in a copy that has a data key of its own. */
export const anyDigest = "--------";
