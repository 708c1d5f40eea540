import { ConfigurationError } from "../../base/errors.js";
import type { ModelUsage, SessionLabel, SessionRef, StoredKey } from "./session-ref.js";
import type { SessionView, HeldTicket, HoldPlace, HoldRequest } from "./session-reads.js";
import type { IdentifiedRecord, RecordIdentity, TurnMark, SideWrite } from "./session-writes.js";
import type { ViewSize } from "../../base/events.js";

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

/** Number of reductions that a session remembers; the oldest are forgotten first. */
export const maxReductions = 100;

/** Which records a page holds: at most one of `before`, `after`, `around` and `since`; by default the newest. */
export interface StoredPageRequest {
  readonly before?: number;
  /** The records after this position; -1 for the oldest. */
  readonly after?: number;
  /** The records around the message of this id. */
  readonly around?: string;
  /** The records from the message of this id on. */
  readonly since?: string;
  readonly limit: number;
}

/** A page of the log, with the state of the session. */
export interface StoredPage {
  readonly records: readonly string[];
  readonly from: number;
  readonly base: number;
  readonly next: number;
  readonly damaged: boolean;
  readonly epoch: string;
  readonly rev: string;
  /** The position behind the last record of the page, also where records of it are missing. */
  readonly to: number;
  readonly start: number;
  /** Rounds that have begun since the session was created. */
  readonly rounds: number;
  /** The session's head if the page begins before the start; else `""`. */
  readonly head: string;
}

/** Statistics of a session; times in milliseconds since 1970. */
export interface StoredStats {
  readonly messages: number;
  readonly rounds: number;
  readonly viewMessages: number;
  readonly viewTokens: number | undefined;
  readonly counter: string;
  /** True if the view is the whole log. */
  readonly isWhole: boolean;
  /** The last reductions, oldest first, at most `maxReductions`, and the number of all. */
  readonly reductions: readonly StoredReduction[];
  readonly reduced: number;
  /** Undefined for a session that was created by an older release. */
  readonly createdAt: number | undefined;
  readonly updatedAt: number | undefined;
  readonly expiresAt: number | undefined;
  readonly damaged: boolean;
}

/** The statistics of a session by its state. */
export function statsOf(state: WholeState): StoredStats {
  const { messages, rounds, counter = "", reductions, reduced, createdAt, updatedAt, expiresAt, damaged } = state;
  const { base, start, next, headCount, tokens } = state;
  return {
    ...{ messages, rounds, counter, reductions, reduced, createdAt, updatedAt, expiresAt, damaged },
    // The start of a damaged session may lie behind its end.
    viewMessages: Math.max(0, headCount + Math.min(next - start, messages)),
    viewTokens: tokens,
    isWhole: base === 0 && start === 0 && headCount === 0,
  };
}

/** A size of the view. */
export type ReductionSize = ViewSize;

/**
 * One reduction of a session.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const history = new RedisChatMemory({ url: "redis://localhost:6379" }).history("chat-7");
 * for (const { at, before, after } of await history.getReductions()) {
 *   console.log(new Date(at).toISOString(), `${before.messages} → ${after.messages} messages`);
 * }
 */
export interface StoredReduction {
  /** When it was stored, in milliseconds since 1970. */
  readonly at: number;
  /** The new start: the position from which the view shows the log as it is. */
  readonly start: number;
  /** Number of messages in the new head. */
  readonly head: number;
  /** The view's size before and after it. */
  readonly before: ReductionSize;
  /** The view's size after it. */
  readonly after: ReductionSize;
  /** The reducer's limit of the view in tokens; left out for a reducer that counts messages. */
  readonly maxTokens?: number;
}

/** More records than a session can hold. */
export const wholeLog = 2 ** 40;

/** Records of the log from a position on, by default all; oldest first. */
export async function readLog(
  { data }: { readonly data: Pick<SessionData, "readPage"> },
  session: SessionRef,
  options: { readonly from?: number; readonly limit?: number } = {},
): Promise<Pick<StoredPage, "records" | "from" | "base" | "next" | "damaged">> {
  const request = { after: (options.from ?? 0) - 1, limit: options.limit ?? wholeLog };
  const { records, from, base, next, damaged } = (await data.readPage(session, request))!;
  return { records, from, base, next, damaged };
}

/** The positions of a page: its first, and the one behind its last. `position` is that of the id in the request. */
export function pageBounds(
  { before, after, since, limit }: StoredPageRequest,
  { base, next, position }: { readonly base: number; readonly next: number; readonly position: number | undefined },
): { readonly from: number; readonly to: number } {
  const within = (position: number) => Math.min(Math.max(position, base), next);
  if (position !== undefined || after !== undefined) {
    const centred = Math.min(position! - Math.floor((limit - 1) / 2), next - limit);
    const from = position === undefined ? within(after! + 1) : since === undefined ? within(centred) : position;
    return { from, to: Math.min(next, from + limit) };
  }
  const to = within(before ?? next);
  return { from: Math.max(base, to - limit), to };
}

/** Data of a session beside its log and its view, with the same lifetime. */
export interface SessionData {
  /** Side fields of the session whose names begin with `prefix`. */
  readSide(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>>;
  /** Writes side fields in one step and creates the session if needed; false if an expected value is not stored. */
  writeSide(session: SessionRef, changes: SideWrite): Promise<boolean>;
  /** A page of the log with the session's bounds and head; undefined if `around` is not in the log. */
  readPage(session: SessionRef, request: StoredPageRequest): Promise<StoredPage | undefined>;
  /** Statistics of a session and its last reductions; undefined if it does not exist. */
  readStats(session: SessionRef): Promise<StoredStats | undefined>;
  /**
   * Acquires the hold, the exclusive right to write: a lease with a fencing token, granted in FIFO order. The ticket
   * gets it if nobody holds the session and no earlier ticket waits; otherwise the ticket is queued. In the same step
   * the fencing token rises above all earlier ones, and the session is created if needed. Called again by the holder,
   * it renews the lease and returns the same token. A waiter polls by repeating this call: one that is not seen for
   * `graceMs` loses its place. `clear` and expiry end the queue with the session.
   */
  acquireHold(session: SessionRef, request: HoldRequest): Promise<HoldPlace>;
  /** Renews a hold; false if the ticket no longer has it. */
  renewHold(session: SessionRef, held: HeldTicket): Promise<boolean>;
  /** Releases the hold, or the place in the queue. A session that exists only because of the hold is removed. */
  releaseHold(session: SessionRef, ticket: string): Promise<void>;
  /** Acquires a session's lease; returns its token, or undefined while another token owns it. */
  acquireLease(session: SessionRef, ttlMs: number): Promise<string | undefined>;
  /** Releases the lease if `token` still owns it. */
  releaseLease(session: SessionRef, token: string): Promise<void>;
  /**
   * Sets the expiry of an expiring session to `ttlMs` from now, in lists too. Returns false and changes nothing for a
   * session that does not expire, does not exist or was erased.
   */
  extendExpiry(session: SessionRef, ttlMs: number): Promise<boolean>;
}
