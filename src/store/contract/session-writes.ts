import type { ViewLimit } from "../../conversation/reducers/chat-history-reducer.js";
import type { HoldPlace, HoldRequest, ReadState, SessionView } from "./session-reads.js";
import type { ModelUsage, SessionRef, StoredKey } from "./session-ref.js";

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

/**
 * The turn of an append, and the state in which the caller expects its mark: an append whose claim does not fit it
 * writes nothing, so a turn is stored once, even if a retry has other ids and texts.
 */
export interface TurnClaim {
  /** A hash of the turn's id: 14 characters of base64url. */
  readonly name: string;
  /** Records of the turn that the caller knows to be stored; 0 at the turn's first append. */
  readonly stored: number;
  /** True to end the turn: every later append to it is a repetition. False to leave it open for more. */
  readonly done: boolean;
}

/** Mark of a turn in a store. */
export interface TurnMark {
  /** True if the turn has ended: every later append to it is a repetition. */
  readonly done: boolean;
  /** Records that were stored for the turn; messages that were stored before under their own ids are not among them. */
  readonly count: number;
  readonly first: number;
}

/** A turn whose claim did not fit its mark. */
export interface StoredTurn extends TurnMark {
  /**
   * The `count` records from `first` on that are still in the log. If the turn was written in several steps, records of
   * other turns may be among them.
   */
  readonly records: readonly string[];
  /**
   * True where the turn is open, has as many records as this append would leave, and all of its ids are stored or
   * discarded: the append was made before, and its reply was lost.
   */
  readonly same?: true;
}

/** A turn that loses records by a rewind. A turn without records is forgotten, any other is open again. */
export interface LessenedTurn {
  readonly name: string;
  readonly removed: number;
}

/** Turn of a record, for `rebuild`. */
interface TurnOfRecord {
  readonly name: string;
  /** True for a record with which a turn can end. */
  readonly ends: boolean;
}

/** The marks of the turns that records belong to, in order of their first record; `first` is an index. */
export function marksIn(records: Iterable<{ readonly turn?: TurnOfRecord } | undefined>): Map<string, TurnMark> {
  const marks = new Map<string, TurnMark>();
  let index = 0;
  for (const record of records) {
    if (record?.turn !== undefined) {
      const { name, ends } = record.turn;
      const { count = 0, first = index } = marks.get(name) ?? {};
      marks.set(name, { done: ends, count: count + 1, first });
    }
    index += 1;
  }
  return marks;
}

/**
 * Side fields to set and to remove. Their namespace is separate from the store's own fields.
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const history = new RedisChatMemory({ url: "redis://localhost:6379" }).history("chat-7");
 * await history.append([new HumanMessage("Hei")], { side: { set: { "app:language": "nb" } } });
 */
export interface SideChanges {
  /** Values to store, by name. @default none */
  readonly set?: Readonly<Record<string, string>>;
  /** Names of fields to remove; removed before `set` is stored. @default none */
  readonly remove?: readonly string[];
  /** After the change, only the last `keep` fields of the `prefix` remain, in byte order of their names. */
  readonly bound?: {
    /** Prefix of the names. */
    readonly prefix: string;
    /** Fields that stay at most; 0 or more. */
    readonly keep: number;
  };
}

/**
 * A change of side fields on its own: nothing is written unless each field of `expected` holds that value (undefined:
 * is absent).
 */
export interface SideWrite extends SideChanges {
  /** Expected values by field (compare-and-set): the write happens only if all match. @default none */
  readonly expected?: Readonly<Record<string, string | undefined>>;
  /** All keys of the session expire this many milliseconds from now; left out, the expiry stays as it is. */
  readonly ttlMs?: number;
}

/** Applies changes to side fields: removals, then settings, then the bound. */
export function applySide(fields: Map<string, string>, changes: SideChanges | undefined): void {
  changes?.remove?.forEach((name) => fields.delete(name));
  for (const [name, value] of Object.entries(changes?.set ?? {})) {
    fields.set(name, value);
  }
  if (changes?.bound !== undefined) {
    const { prefix, keep } = changes.bound;
    const names = [...fields.keys()].filter((name) => name.startsWith(prefix)).sort(byBytes);
    names.slice(0, Math.max(0, names.length - keep)).forEach((name) => fields.delete(name));
  }
}

/** The fields whose names begin with a prefix, in byte order of their names. */
export function sideWithPrefix(fields: Iterable<readonly [string, string]>, prefix: string): Record<string, string> {
  const chosen = [...fields].filter(([name]) => name.startsWith(prefix)).sort(([a], [b]) => byBytes(a, b));
  return Object.fromEntries(chosen);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

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
