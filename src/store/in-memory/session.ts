import { randomToken } from "../../base/ids.js";
import { beginsRound } from "../contract/record-text.js";
import type { ReadState, ReadViewOptions, SessionView } from "../contract/session-reads.js";
import { maxReductions, type ReductionSize, type StoredReduction } from "../contract/session-pages.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { CommitRequest, IdentifyRecord, RewindRequest } from "../contract/session-writes.js";
import { totalAfterCommit, unknownTotal, type TokenTotal } from "./token-total.js";

import { newOwnership, type InMemoryOwnership } from "./owners.js";
import type { StoredKey } from "../contract/writer-keys.js";
import type { InMemoryHold } from "./holds.js";
import { reopenTurns, restoreTurns } from "./turns.js";
import type { TurnMark } from "../contract/turns.js";

/** The state of a session as plain data; the counterpart of the three keys in Redis. */
export interface InMemorySession {
  readonly epoch: string;
  rev: string;
  /** A random token, new when records are removed from the tail; `""` until then. */
  cut: string;
  /** Times of the first and the last write; undefined until the session is stored. */
  created: number | undefined;
  updated: number | undefined;
  /** The last reductions, and the number of all. */
  readonly reductions: StoredReduction[];
  reduced: number;
  base: number;
  start: number;
  head: string;
  headCount: number;
  /** Undefined until a record is appended or a reduction committed; a session may consist of side fields alone. */
  total: TokenTotal | undefined;
  rounds: number;
  fence: number;
  /** Its data key; undefined for a session of plain text. */
  key: StoredKey | undefined;
  expiresAt: number | undefined;
  log: string[];
  readonly ids: Map<string, { readonly digest: string; readonly position: number }>;
  readonly side: Map<string, string>;
  readonly turns: Map<string, TurnMark>;
  readonly ownership: InMemoryOwnership;
  readonly queue: InMemoryHold;
}

/** A new session. */
export function newSession(): InMemorySession {
  const empty = { base: 0, start: 0, head: "", headCount: 0, total: undefined, rounds: 0, fence: 0, key: undefined };
  const epoch = randomToken();
  const queue = { holder: undefined, waiters: new Map() };
  const times = { created: undefined, updated: undefined, expiresAt: undefined };
  const past = { cut: "", reductions: [], reduced: 0 };
  const rest = { ...times, ...past, turns: new Map(), queue, ownership: newOwnership() };
  return { epoch, rev: epoch, ...empty, ...rest, log: [], ids: new Map(), side: new Map() };
}

/** The position that the next record will get. */
export function nextPosition({ base, log }: InMemorySession): number {
  return base + log.length;
}

/** Sets the data key of a session that has none to the writer's; texts that are there already are plain. */
export function noteKey(session: InMemorySession, { keys }: SessionRef): void {
  if (session.key === undefined && keys?.made !== undefined) {
    const { label } = session.ownership;
    const isEmpty = session.total === undefined && session.side.size === 0 && Object.keys(label).length === 0;
    session.key = isEmpty ? keys.made : { ...keys.made, key: `${keys.made.key} plain` };
  }
}

/** Looks up the ids and the turn of a read. */
export function lookUp(
  session: InMemorySession,
  { ids, turn }: ReadViewOptions,
): Pick<SessionView, "positions" | "turn"> {
  if (ids === undefined && turn === undefined) {
    return {};
  }
  const positions = (ids ?? []).map((id) => {
    const position = session.ids.get(id)?.position ?? -1;
    return position >= session.base && position < nextPosition(session) ? position : undefined;
  });
  const mark = session.turns.get(turn ?? "");
  return { positions, ...(mark && { turn: mark }) };
}

/** The view of a session, copied. */
export function viewOf(session: InMemorySession): SessionView {
  const { epoch, rev, base, start, head, headCount, log, total = unknownTotal } = session;
  const records = log.slice(start - base);
  return { epoch, rev, base, start, next: nextPosition(session), head, headCount, ...total, records, damaged: false };
}

/** Moves the start and replaces the head by compare-and-set; false if the session has changed since it was read. */
export function commitTo(
  session: InMemorySession | undefined,
  caller: SessionRef,
  { request, now: at }: { readonly request: CommitRequest; readonly now: number },
): session is InMemorySession {
  if (session === undefined || request.next > nextPosition(session) || !isAsRead(session, request)) {
    return false;
  }
  const { start, head, headCount, discard } = request;
  const next = nextPosition(session);
  const before = viewSize(session);
  noteKey(session, caller);
  session.total = totalAfterCommit({ ...(session.total ?? unknownTotal), next }, request);
  session.start = start;
  session.head = head;
  session.headCount = headCount;
  session.rev = randomToken();
  session.reduced += 1;
  const limit = request.maxTokens !== undefined && { maxTokens: request.maxTokens };
  session.reductions.push({ at, start, head: headCount, before, after: viewSize(session), ...limit });
  session.reductions.splice(0, session.reductions.length - maxReductions);
  if (discard === true) {
    session.log.splice(0, start - session.base);
    session.base = start;
  }
  return true;
}

function viewSize(session: InMemorySession): ReductionSize {
  const messages = session.headCount + nextPosition(session) - session.start;
  const tokens = session.total?.tokens;
  return tokens === undefined ? { messages } : { messages, tokens };
}

/** True for a session with neither records, also discarded ones, nor head, owner, title or holder. */
export function isEmpty({ log, base, head, ownership: { owner, label }, queue }: InMemorySession): boolean {
  const isNamed = owner !== undefined || label.title !== undefined;
  return log.length === 0 && base === 0 && head === "" && !isNamed && queue.holder === undefined;
}

/** True if nothing has changed since the session was read. */
export function isUnchanged(session: InMemorySession, request: ReadState): boolean {
  return request.next === nextPosition(session) && isAsRead(session, request);
}

/** True if the session is as it was read, except for later appends. */
function isAsRead({ epoch, rev, ids }: InMemorySession, read: ReadState): boolean {
  const isSame = epoch === read.epoch && rev === read.rev;
  return isSame && (read.lastId === undefined || ids.get(read.lastId)?.position === read.next - 1);
}

/** Removes the records from a position on, with their ids and turns. */
export function truncate(session: InMemorySession, { to, turns }: RewindRequest): void {
  const removed = session.log.splice(to - session.base);
  session.rounds -= removed.filter(beginsRound).length;
  // The request lists these ids only for stores that cannot look them up.
  for (const [id, { position }] of session.ids) {
    if (position >= to) {
      session.ids.delete(id);
    }
  }
  reopenTurns(session.turns, { to, turns });
  // At the start itself too, if there is no head: the view would be empty.
  if (to < session.start || (to === session.start && session.headCount === 0)) {
    Object.assign(session, { head: "", headCount: 0, start: session.base });
  }
  const rev = randomToken();
  Object.assign(session, { rev, cut: rev, total: unknownTotal });
}

/**
 * Replaces the known ids by those that `identify` returns, and those of discarded messages. A record without an
 * identity matches no message.
 */
export function reidentify(session: InMemorySession, identify: IdentifyRecord): void {
  const identities = session.log.map((record, index) => identify(record, session.base + index));
  session.ids.forEach(({ position }, id) => position < session.base || session.ids.delete(id));
  identities.forEach((identity, index) => {
    if (identity !== undefined && !session.ids.has(identity.id)) {
      session.ids.set(identity.id, { digest: identity.digest, position: session.base + index });
    }
  });
  restoreTurns(session, identities);
  session.rev = session.cut = randomToken();
}
