import { randomToken } from "../../base/ids.js";
import { beginsRound } from "../contract/append-decision.js";
import type {
  ReadState,
  ReadViewOptions,
  SessionView,
  HeldTicket,
  HoldRequest,
  HoldPlace,
} from "../contract/session-reads.js";
import { maxReductions, type ReductionSize, type StoredReduction } from "../contract/session-data.js";
import type { SessionRef, StoredKey } from "../contract/session-ref.js";
import { marksIn } from "../contract/session-writes.js";
import type {
  CommitRequest,
  IdentifyRecord,
  RewindRequest,
  AppendRequest,
  NewRecord,
  IdentifiedRecord,
  TurnMark,
  StoredTurn,
  TurnClaim,
  LessenedTurn,
} from "../contract/session-writes.js";
import { newOwnership, type InMemoryOwnership, type InMemorySessions } from "./sessions.js";

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

/** Tokens of a view under a counter; undefined and `""` where not known. */
type TokenTotal = Pick<SessionView, "tokens" | "counter">;

/** The total that is not known. */
export const unknownTotal: TokenTotal = { tokens: undefined, counter: "" };

/**
 * The total after records were added: known while every append uses the same counter. `before` is undefined for a
 * session to which nothing was appended or committed yet; `counter` is that of the append's plan.
 */
export function totalAfterAppend(
  before: TokenTotal | undefined,
  fresh: readonly NewRecord[],
  counter: string | undefined,
): TokenTotal | undefined {
  if (fresh.length === 0) {
    return before;
  }
  const base = before === undefined ? 0 : before.counter === counter ? before.tokens : undefined;
  if (counter === undefined || base === undefined) {
    return unknownTotal;
  }
  return { tokens: fresh.reduce((sum, { tokens = 0 }) => sum + tokens, base), counter };
}

/** The total after a reduction was committed to a session with this total and next position. */
function totalAfterCommit(before: TokenTotal & { readonly next: number }, request: CommitRequest): TokenTotal {
  const { next, tokens, counter, tokensRead } = request;
  if (tokens === undefined || counter === undefined) {
    return unknownTotal;
  }
  if (before.next === next) {
    return { tokens, counter };
  }
  // The difference of both totals is the size of records that were appended since the view was read.
  return before.tokens === undefined || before.counter !== counter || tokensRead === undefined
    ? unknownTotal
    : { tokens: tokens + (before.tokens - tokensRead), counter };
}

/** True where an append must return the view, because it exceeds the request's limit or its total is not known. */
export function exceedsLimit(
  view: TokenTotal & Pick<SessionView, "headCount" | "start" | "next">,
  { viewLimit, counter }: Pick<AppendRequest, "viewLimit" | "counter">,
): boolean {
  const { messages, tokens, fromStart } = viewLimit ?? {};
  if (messages !== undefined && view.headCount + view.next - view.start > messages) {
    return true;
  }
  if (fromStart !== undefined && view.next - view.start > fromStart) {
    return true;
  }
  return tokens !== undefined && (view.tokens === undefined || view.counter !== counter || view.tokens > tokens);
}

type TurnLog = Pick<InMemorySession, "turns" | "base" | "log">;

/** Returns the turn as it is stored if the claim does not fit it; undefined if it does. */
export function storedTurn(
  session: TurnLog,
  { name, stored }: Pick<TurnClaim, "name" | "stored">,
): StoredTurn | undefined {
  const { turns, base, log } = session;
  const mark = turns.get(name) ?? { done: false, count: 0, first: base + log.length };
  if (!mark.done && mark.count === stored) {
    return undefined;
  }
  const { first, count } = mark;
  return { ...mark, records: log.slice(Math.max(0, first - base), Math.max(0, first - base + count)) };
}

/** Adds `count` to the number of stored records of a turn. */
export function markTurn(
  marks: Map<string, TurnMark>,
  { claim, count, first }: { readonly claim: TurnClaim; readonly count: number; readonly first: number },
): void {
  const { name, done } = claim;
  const mark = marks.get(name);
  if (mark !== undefined || count > 0) {
    marks.set(name, { done, count: (mark?.count ?? 0) + count, first: mark?.first ?? first });
  }
}

/** Forgets the turns that began at or after a position; a turn that keeps records is open again. */
function reopenTurns(
  marks: Map<string, TurnMark>,
  { to, turns = [] }: { readonly to: number; readonly turns: readonly LessenedTurn[] | undefined },
): void {
  for (const [name, { first }] of marks) {
    if (first >= to) {
      marks.delete(name);
    }
  }
  for (const { name, removed } of turns) {
    const { count = 0, first = 0 } = marks.get(name) ?? {};
    if (count <= removed) {
      marks.delete(name);
    } else {
      marks.set(name, { done: false, count: count - removed, first });
    }
  }
}

/** Rebuilds the marks from the records, and keeps those of turns whose records were discarded. */
function restoreTurns({ turns, base }: TurnLog, records: readonly (IdentifiedRecord | undefined)[]): void {
  turns.forEach(({ first }, name) => first < base || turns.delete(name));
  for (const [name, mark] of marksIn(records)) {
    turns.set(name, { ...mark, first: base + mark.first });
  }
}

/** The holder of a session and its queue; times in milliseconds of the store's clock. */
interface InMemoryHold {
  holder: { readonly ticket: string; readonly endsAt: number; readonly token: number } | undefined;
  /** Time of each waiter's last poll, in FIFO order. */
  readonly waiters: Map<string, number>;
}

/** Extends the life of a session that would expire before its hold is renewed again. */
export function keepAlive(
  sessions: InMemorySessions,
  session: InMemorySession,
  { holdMs, ttlMs }: Pick<HeldTicket, "holdMs" | "ttlMs">,
): void {
  const left = (session.expiresAt ?? Infinity) - sessions.now();
  if (ttlMs !== undefined && left < Math.min(2 * holdMs, ttlMs / 2)) {
    sessions.refresh(session, ttlMs);
  }
}

/** Acquires a session's hold, or a place in its queue; creates the session if needed. */
export function acquireHold(sessions: InMemorySessions, session: SessionRef, entry: HoldRequest): HoldPlace {
  const before = sessions.writable("acquireHold", session, ["erased"]);
  const stored = before ?? newSession();
  const now = sessions.now();
  const ahead = aheadIn(stored, entry, now);
  const place: HoldPlace = ahead === undefined ? takeIn(stored, entry, now) : { isHeld: false, ahead };
  if (before === undefined) {
    sessions.keep(session.id, stored, entry.ttlMs);
  } else if (place.isHeld) {
    keepAlive(sessions, stored, entry);
  }
  return place;
}

/** Number of waiters ahead of the ticket, which keeps its place in the queue; undefined if it can acquire the hold. */
export function aheadIn({ queue }: InMemorySession, { ticket, graceMs }: HoldRequest, now: number): number | undefined {
  if (queue.holder?.ticket === ticket) {
    return undefined;
  }
  queue.waiters.set(ticket, now);
  for (const [other, seen] of queue.waiters) {
    if (now - seen > graceMs) {
      queue.waiters.delete(other);
    }
  }
  const ahead = [...queue.waiters.keys()].indexOf(ticket);
  return ahead > 0 || (queue.holder !== undefined && queue.holder.endsAt >= now) ? ahead : undefined;
}

/** Acquires the hold for the first ticket of the queue. */
export function takeIn(session: InMemorySession, { ticket, holdMs }: HoldRequest, now: number): HoldPlace {
  const { queue, epoch } = session;
  const isOwn = queue.holder?.ticket === ticket;
  queue.waiters.delete(ticket);
  session.fence = isOwn ? session.fence : Math.max(now * 1000, session.fence + 1);
  const token = isOwn ? queue.holder!.token : session.fence;
  queue.holder = { ticket, endsAt: now + holdMs, token };
  return { isHeld: true, hold: { token, epoch } };
}

/** True if nothing was ever written to a session. */
export function isUntouched({ epoch, rev, base, log, side, total, ownership }: InMemorySession): boolean {
  const isNamed = ownership.owner !== undefined || ownership.labelVersion !== "";
  return epoch === rev && base === 0 && log.length === 0 && side.size === 0 && total === undefined && !isNamed;
}
