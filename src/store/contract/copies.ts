import { ConfigurationError } from "../../base/errors.js";
import type { ModelUsage, SessionLabel } from "./lists.js";
import { checkAmount, checkInteger, checkOptional, notNegative, positive } from "./request-checks.js";
import { checkSessionId, type SessionRef } from "./session-ref.js";
import type { StoredReduction } from "./session-pages.js";
import type { SessionView } from "./session-reads.js";
import type { IdentifiedRecord, RecordIdentity } from "./session-writes.js";
import type { TurnMark } from "./turns.js";
import type { StoredKey } from "./writer-keys.js";

/**
 * Snapshots of whole sessions, read and created: the basis of forks, exports and imports. `readLog` reads the records.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 * await store.append({ id: "chat-7" }, { records: [hello] });
 *
 * async function* pages(from: number) {
 *   const { records } = await store.readLog({ id: "chat-7" }, { from });
 *   yield { records: records.map((record) => ({ record, identity: hello })), turns: [] };
 * }
 * const state = await store.copies.read({ id: "chat-7" });
 * const finish = async () => state;
 * const created = state && (await store.copies.create({ id: "copy" }, { base: state.base, pages, finish }));
 * const { digests } = await store.copies.readMarks({ id: "copy" }, { ids: [hello.id] });
 * console.log(created?.next, digests); // 1 [ 'AAAAAAAA' ]
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
   * undefined, without a session, if `finish` returns no state, or the pages do not continue an earlier attempt.
   * Rejects, without a session, if `pages` throws.
   *
   * Staged records of an incomplete session expire after ten minutes, or go with the erasure of one of its `owners`. No
   * session is created if such an erasure follows its `finish`.
   *
   * @throws ConflictError `exists`; StoreError, also `erased` if the id was erased recently.
   */
  create(session: SessionRef, request: CreateRequest): Promise<CreatedSession | undefined>;
  /**
   * Puts a copy of the session's log and texts, sealed with another data key or with none, in its place; holds, turns,
   * counts and times stay. `stale` if the session is no longer as it was read: called again with the same `tag`, it
   * goes on behind the records that it has staged.
   */
  replace(session: SessionRef, request: ReplaceRequest): Promise<"replaced" | "stale">;
}

/** State of a session without its log. Times are milliseconds since 1970. */
export interface KeptState extends Pick<SessionView, "base" | "start" | "head" | "headCount"> {
  /** Rounds that have begun; more than the log holds after retention `discard`. */
  readonly rounds: number;
  /** Tokens of the view under `counter`; undefined where not known. */
  readonly tokens?: number;
  /** Id of the token counter. */
  readonly counter?: string;
  /** Its owner; left out for a session without one. */
  readonly owner?: string;
  /** Its title and metadata; empty for a session without. */
  readonly label: SessionLabel;
  /** True for a session that has, or had, a title or metadata. */
  readonly hasLabel: boolean;
  /** When the session was created. */
  readonly createdAt?: number;
  /** When it was last written. */
  readonly updatedAt?: number;
  /** When it expires; left out for a session that does not. */
  readonly expiresAt?: number;
  /** The last reductions, oldest first, and the number of all. */
  readonly reductions: readonly StoredReduction[];
  /** Reductions since the session was created. */
  readonly reduced: number;
  /** Tokens of stored answers by model; left out where none was counted. */
  readonly usage?: readonly ModelUsage[];
  /** All side fields by name. */
  readonly side: Readonly<Record<string, string>>;
}

/** The state of a session, as it was read. */
export interface WholeState extends KeptState {
  /** The session's epoch; `""` if it is lost. */
  readonly epoch: string;
  /** A token, new when records are removed from the tail; `""` until then. */
  readonly cut: string;
  /** The position that the next record will get. */
  readonly next: number;
  /** True if a part of the session is missing. */
  readonly damaged: boolean;
  /** True for a session with a data key. */
  readonly isSealed: boolean;
  /** Checksum of the log, from a store that keeps one. */
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
  /** Names of turns. @default none */
  readonly turns?: readonly string[];
  /** Ids of messages. @default none */
  readonly ids?: readonly string[];
}

/** Result of a lookup of turns and message ids. */
export interface KnownMarks {
  /** Their marks. */
  readonly turns: readonly (TurnMark | undefined)[];
  /** The digests that are stored under the ids. */
  readonly digests: readonly (string | undefined)[];
}

/** The mark of a turn, and the turn's name. */
export interface NamedMark extends TurnMark {
  /** The turn's name, see `TurnClaim.name`. */
  readonly name: string;
}

/** A record of the new session. */
export interface CopiedRecord {
  /** The record's text in the new session. */
  readonly record: string;
  /** Identity of the record, as for `rebuild`; undefined for an unreadable one. */
  readonly identity: IdentifiedRecord | undefined;
}

/** The records of one turn on a page of a session that is being created. */
export interface CopiedTurn {
  /** The turn's name, see `TurnClaim.name`. */
  readonly name: string;
  /** How many records; those of several pages add up. */
  readonly count: number;
  /** Position of the first. */
  readonly first: number;
  /** The turn is done when it has so many; left out for one that stays open. */
  readonly doneAt?: number;
}

/** A page of the log of a session that is being created. */
export interface CopyPage {
  /** The records, in the order of the log. */
  readonly records: readonly CopiedRecord[];
  /** The turns of the page; `identity.turn` is ignored. */
  readonly turns: readonly CopiedTurn[];
  /** The record before the page, except for the first page; compared with the last staged one. */
  readonly before?: CopiedRecord | undefined;
}

/** A session to create. */
export interface CreateRequest {
  /** Position of the first record. */
  readonly base: number;
  /**
   * The records from a position on, in pages, in the order of the log. Called again, from a later position, if another
   * process has staged more.
   */
  pages(from: number): AsyncIterable<CopyPage>;
  /**
   * Returns the state, called once all records are staged and the session is announced to its owners; undefined if the
   * records are no longer a consistent snapshot. `next` is the position behind the last.
   */
  finish(next: number): Promise<NewState | undefined>;
  /** Owners of the data, that of the source first; the erasure of any of them finds the session. @default none */
  readonly owners?: readonly string[];
  /** All keys expire this many milliseconds after its creation. @default the state's expiry */
  readonly ttlMs?: number;
  /** Identifies the copy: a failed call that is repeated with the same tag resumes. @default a new copy */
  readonly tag?: string;
}

/** A copy that takes the place of its session. */
export interface ReplaceRequest {
  /** The state as it was read before the records: nothing is replaced unless log and texts are the same. */
  readonly was: WholeState;
  /** The texts to put in the place of those of `was`. */
  readonly now: Pick<KeptState, "head" | "label" | "side">;
  /** The data key of the copy; undefined for plain text. */
  readonly key: StoredKey | undefined;
  /** As for `create`. Marks of turns count as they are given: each that is done on one page, with all its records. */
  pages(from: number): AsyncIterable<CopyPage>;
  /** Turns that are not done, whose marks are taken over at the end; `pages` adds to them. */
  readonly openTurns: ReadonlySet<string>;
  /** SHA-1 of records, by their positions, which must be the same as well; `pages` adds to them. */
  readonly exact: ReadonlyMap<number, string>;
  /** Identifies the copy, as for `create`. */
  readonly tag: string;
}

/** The texts of a state by the names of their fields; without those that are empty. */
export function textFields({ head, label, side }: Pick<KeptState, "head" | "label" | "side">): Record<string, string> {
  const sides = Object.entries(side).map(([name, text]) => [`side:${name}`, text]);
  return { ...(head !== "" && { head }), ...label, ...Object.fromEntries(sides) };
}

/** A session that was created. */
export interface CreatedSession {
  /** The new session's epoch. */
  readonly epoch: string;
  /** The position that its next record will get. */
  readonly next: number;
}

/** Refuses a session with an invalid id or request. */
export function checkCreate(session: SessionRef, { base, ttlMs }: CreateRequest): void {
  checkSessionId(session.id);
  checkInteger("base", base, 0);
  checkOptional("ttlMs", ttlMs, positive);
}

/** Refuses a state with invalid numbers, and one that does not fit the log. @throws ConfigurationError. */
export function checkCreated(state: NewState, { base, next }: { readonly base: number; readonly next: number }): void {
  for (const option of ["start", "headCount", "reduced"] as const) {
    checkInteger(option, state[option], 0);
  }
  for (const option of ["rounds", "createdAt", "updatedAt", "expiresAt"] as const) {
    checkOptional(option, state[option], notNegative);
  }
  checkOptional("tokens", state.tokens, checkAmount);
  const { start, rounds = 0 } = state;
  if (start < base || start > next) {
    throw new ConfigurationError("start", `"start" must be between ${base} and ${next}, the ends of the log.`);
  }
  if (rounds > next) {
    throw new ConfigurationError("rounds", `"rounds" must be at most ${next}, the number of records.`);
  }
}
