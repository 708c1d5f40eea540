import { ConfigurationError } from "../../base/errors.js";
import type { ModelUsage, SessionLabel } from "./lists.js";
import type { SessionRef } from "./session-ref.js";
import type { StoredReduction } from "./session-pages.js";
import type { SessionView } from "./session-reads.js";
import type { IdentifiedRecord, RecordIdentity } from "./session-writes.js";
import type { TurnMark } from "./turns.js";
import type { StoredKey } from "./writer-keys.js";

/**
 * Snapshots of whole sessions, read and created: the basis of forks, exports and imports. `readPage` reads the records.
 */
export interface SessionCopies {
  /**
   * Reads a consistent snapshot of a session's state without its log; undefined if it does not exist. For a session
   * that lost other keys, the remaining state, `damaged` and without an epoch.
   */
  read(session: SessionRef): Promise<WholeState | undefined>;
  /** Looks up turns and message ids, in the order of the request; undefined for an unknown one. */
  readMarks(session: SessionRef, request: MarksRequest): Promise<KnownMarks>;
  /**
   * Creates a session from pages of records and a state. It becomes visible atomically when it is complete. Returns
   * undefined, without a session, if `finish` returns no state, or the staged records have expired. Rejects, without a
   * session, if `pages` throws.
   *
   * Staged records of an incomplete session go with the call, expire after ten minutes, or go with the erasure of one
   * of its `owners`. No session is created if such an erasure follows its `finish`.
   *
   * @throws ConflictError `exists`; StoreError, also `erased` if the id was erased recently.
   */
  create(session: SessionRef, request: CreateRequest): Promise<CreatedSession | undefined>;
  /**
   * Puts a copy of the session's log and texts, sealed with another data key or with none, in its place; holds, turns,
   * counts and times stay. `stale` if the session is no longer as it was read.
   */
  replace(session: SessionRef, request: ReplaceRequest): Promise<"replaced" | "stale">;
}

/** State of a session without its log. Times are milliseconds since 1970. */
export interface KeptState extends Pick<SessionView, "base" | "start" | "head" | "headCount"> {
  /** Rounds that have begun; more than the log holds after retention `discard`. */
  readonly rounds: number;
  readonly tokens?: number;
  readonly counter?: string;
  readonly owner?: string;
  readonly label: SessionLabel;
  /** True for a session that has, or had, a title or metadata. */
  readonly hasLabel: boolean;
  readonly createdAt?: number;
  readonly updatedAt?: number;
  readonly expiresAt?: number;
  /** The last reductions, oldest first, and the number of all. */
  readonly reductions: readonly StoredReduction[];
  readonly reduced: number;
  /** Tokens of stored answers by model; left out where none was counted. */
  readonly usage?: readonly ModelUsage[];
  readonly side: Readonly<Record<string, string>>;
}

/** The state of a session, as it was read. */
export interface WholeState extends KeptState {
  /** The session's epoch; `""` if it is lost. */
  readonly epoch: string;
  /** A token, new when records are removed from the tail; `""` until then. */
  readonly cut: string;
  readonly next: number;
  /** Records that are there. */
  readonly messages: number;
  readonly damaged: boolean;
  readonly isSealed: boolean;
  /** Checksum of the log; left out by the store in memory. */
  readonly sum?: string;
}

/** The state of a session that is created. */
export interface NewState extends Omit<KeptState, "base" | "rounds"> {
  /** @default those that begin among the records */
  readonly rounds?: number;
  /** Further messages that count as stored: those in the head whose records were discarded. @default none */
  readonly knownIds?: readonly RecordIdentity[];
}

/** Turns and message ids to look up in a session. */
export interface MarksRequest {
  readonly turns?: readonly string[];
  readonly ids?: readonly string[];
}

/** Result of a lookup of turns and message ids. */
export interface KnownMarks {
  readonly turns: readonly (TurnMark | undefined)[];
  readonly digests: readonly (string | undefined)[];
}

/** The mark of a turn, and the turn's name. */
export interface NamedMark extends TurnMark {
  readonly name: string;
}

/** A record of the new session. */
export interface CopiedRecord {
  readonly record: string;
  /** Identity of the record, as for `rebuild`; undefined for an unreadable one. */
  readonly identity: IdentifiedRecord | undefined;
}

/** The records of one turn on a page of a session that is being created. */
export interface CopiedTurn {
  readonly name: string;
  /** How many records; those of several pages add up. */
  readonly count: number;
  readonly first: number;
  /** The turn is done when it has so many; left out for one that stays open. */
  readonly doneAt?: number;
}

/** A page of the log of a session that is being created. */
export interface CopyPage {
  readonly records: readonly CopiedRecord[];
  /** The turns of the page; `identity.turn` is ignored. */
  readonly turns: readonly CopiedTurn[];
}

/** A session to create. */
export interface CreateRequest {
  readonly base: number;
  /** The records in pages, in the order of the log. */
  pages(): AsyncIterable<CopyPage>;
  /**
   * Returns the state, called once all records are staged and the session is announced to its owners; undefined if the
   * records are no longer a consistent snapshot. `next` is the position behind the last.
   */
  finish(next: number): Promise<NewState | undefined>;
  /** Owners of the data, that of the source first; the erasure of any of them finds the session. @default none */
  readonly owners?: readonly string[];
  /** All keys expire this many milliseconds after its creation. @default the state's expiry */
  readonly ttlMs?: number;
}

/** A copy that takes the place of its session. */
export interface ReplaceRequest {
  /** The state as it was read before the records: nothing is replaced unless log and texts are the same. */
  readonly was: WholeState;
  readonly now: Pick<KeptState, "head" | "label" | "side">;
  /** The data key of the copy; undefined for plain text. */
  readonly key: StoredKey | undefined;
  /** As for `create`. Marks of turns count as they are given: each that is done on one page, with all its records. */
  pages(): AsyncIterable<CopyPage>;
  /** Turns that are not done, whose marks are taken over at the end; `pages` adds to them. */
  readonly openTurns: ReadonlySet<string>;
}

/** The texts of a state by the names of their fields; without those that are empty. */
export function textFields({ head, label, side }: Pick<KeptState, "head" | "label" | "side">): Record<string, string> {
  const sides = Object.entries(side).map(([name, text]) => [`side:${name}`, text]);
  return { ...(head !== "" && { head }), ...label, ...Object.fromEntries(sides) };
}

/** A session that was created. */
export interface CreatedSession {
  readonly epoch: string;
  readonly next: number;
}

/** Refuses a state that does not fit the log. @throws ConfigurationError. */
export function checkCreated(
  { start, rounds = 0 }: NewState,
  { base, next }: { readonly base: number; readonly next: number },
): void {
  if (start < base || start > next) {
    throw new ConfigurationError("start", `"start" must be between ${base} and ${next}, the ends of the log.`);
  }
  if (rounds > next) {
    throw new ConfigurationError("rounds", `"rounds" must be at most ${next}, the number of records.`);
  }
}
