import { ConfigurationError } from "../base/errors.js";
import { checkAmount, checkInteger, checkOptional, notNegative } from "./request-checks.js";
import type { CopiedRecord } from "./session-forks.js";
import { checkSessionId, type SessionRef } from "./session-ref.js";
import type { ModelUsage, SessionLabel } from "./lists.js";
import type { StoredReduction } from "./session-pages.js";
import type { TurnMark } from "./turns.js";

/**
 * Whole sessions out of a store and into one: what exports are read by, and imports written by.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 * const session = { id: "chat-7" };
 * await store.append(session, { records: [hello] });
 *
 * async function* pages() {
 *   const { records } = await store.readLog(session);
 *   const identity = { id: hello.id, digest: hello.digest };
 *   yield { records: records.map((record) => ({ record, identity })), marks: [] };
 * }
 * const state = await store.copies.readState(session);
 * const created = state && (await store.copies.create({ id: "copy" }, { state, pages: pages() }));
 * console.log(created?.next); // 1
 */
export interface SessionTransfers {
  /**
   * All that is kept about a session besides its log, of one moment; undefined for one that does not exist. Of a
   * session whose other keys are lost it says what is left, `damaged` and without an epoch.
   */
  readState(session: SessionRef): Promise<WholeState | undefined>;
  /** The marks of turns of a session; undefined for an unknown turn. */
  readTurns(session: SessionRef, names: readonly string[]): Promise<readonly (TurnMark | undefined)[]>;
  /**
   * Creates a session of a state and pages of records. It appears at once when the last page is there; before, nothing
   * can be read of it. Where `pages` throws, so does this, and there is no session.
   *
   * @throws ConflictError `exists`; StoreError, also `erased` where the id was erased a short time ago.
   */
  create(session: SessionRef, request: CreateRequest): Promise<CreatedSession>;
}

/** What is kept about a session besides its log. Times are milliseconds since 1970. */
export interface KeptState {
  /** Position of the first record. */
  readonly base: number;
  /** Position from which the view shows the log as it is. */
  readonly start: number;
  /** Rounds that have begun; more than the log holds after retention `discard`. */
  readonly rounds: number;
  /** The head; `""` if there is none. */
  readonly head: string;
  /** Messages that the head stands for. */
  readonly headCount: number;
  /** Tokens of the view under `counter`; undefined where not known. */
  readonly tokens?: number;
  /** Id of the token counter. */
  readonly counter?: string;
  /** Whose session it is. */
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
  /** Turns that are remembered although their records are gone, oldest first. */
  readonly discardedTurns: readonly NamedMark[];
}

/** The state of a session, as it was read. */
export interface WholeState extends KeptState {
  /** The session's epoch; `""` where it is lost. */
  readonly epoch: string;
  /** Changes when records are removed from the end; `""` before. */
  readonly cut: string;
  /** The position that the next record will get. */
  readonly next: number;
  /** True if a part of the session is missing. */
  readonly damaged: boolean;
  /** Names of the keys that the session needs, see `SessionRef.keys`; left out where it is plain text. */
  readonly key?: string;
}

/** A part of the log of a session that is created. */
export interface TransferPage {
  /** The records, in the order of the log. */
  readonly records: readonly CopiedRecord[];
  /** The marks of turns, each once. What `identity` says of turns does not count. */
  readonly marks: readonly NamedMark[];
}

/** The mark of a turn, and the turn's name. */
export interface NamedMark extends TurnMark {
  /** The turn's name, see `TurnClaim.name`. */
  readonly name: string;
}

/** A session to create. */
export interface CreateRequest {
  /** What is kept beside the log. */
  readonly state: KeptState;
  /** The records from `base` on, in pages, in the order of the log. */
  readonly pages: AsyncIterable<TransferPage>;
}

/** A session that was created. */
export interface CreatedSession {
  /** The new session's epoch. */
  readonly epoch: string;
  /** The position that its next record will get. */
  readonly next: number;
}

/** Refuses a session with an invalid id or state. */
export function checkCreate(session: SessionRef, { state }: CreateRequest): void {
  checkSessionId(session.id);
  for (const option of ["base", "start", "rounds", "headCount", "reduced"] as const) {
    checkInteger(option, state[option], 0);
  }
  for (const option of ["createdAt", "updatedAt", "expiresAt"] as const) {
    checkOptional(option, state[option], notNegative);
  }
  checkOptional("tokens", state.tokens, checkAmount);
}

/** Refuses a state that does not fit the log, once its end is known. @throws ConfigurationError. */
export function checkCreated({ base, start, rounds }: KeptState, next: number): void {
  if (start < base || start > next) {
    throw new ConfigurationError("start", `"start" must be between ${base} and ${next}, the ends of the log.`);
  }
  if (rounds > next) {
    throw new ConfigurationError("rounds", `"rounds" must be at most ${next}, the number of records.`);
  }
}
