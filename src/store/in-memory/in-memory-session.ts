import { decideAppend, type AppendTarget, type PlannedAppend } from "../append-decision.js";
import { outOfRange } from "../refusals.js";
import { randomToken } from "../random-token.js";
import { beginsRound, lastRounds } from "../rounds.js";
import type { LogPage, SessionView, StoredRounds } from "../session-reads.js";
import type { AppendResult, CommitRequest, IdentifyRecord, RewindRequest } from "../session-store.js";
import { applySide } from "../side-fields.js";
import { exceedsLimit, totalAfterAppend, totalAfterCommit, unknownTotal, type TokenTotal } from "../token-total.js";

/** Everything that is kept about a session, as plain data. The Redis store's scripts do the same to their keys. */
export interface InMemorySession {
  readonly epoch: string;
  rev: string;
  base: number;
  start: number;
  head: string;
  headCount: number;
  /** Undefined until a record is appended or a reduction committed; a session may consist of side fields alone. */
  total: TokenTotal | undefined;
  rounds: number;
  fence: number;
  expiresAt: number | undefined;
  log: string[];
  readonly ids: Map<string, { readonly digest: string; readonly position: number }>;
  readonly side: Map<string, string>;
}

/** A session in which nothing has happened. */
export function newSession(): InMemorySession {
  const empty = {
    base: 0,
    start: 0,
    head: "",
    headCount: 0,
    total: undefined,
    rounds: 0,
    fence: 0,
  };
  const epoch = randomToken();
  return { epoch, rev: epoch, ...empty, expiresAt: undefined, log: [], ids: new Map(), side: new Map() };
}

/** The position that the next record will get. */
export function nextPosition({ base, log }: InMemorySession): number {
  return base + log.length;
}

/** The view of a session, copied. */
export function viewOf(session: InMemorySession): SessionView {
  const { epoch, rev, base, start, head, headCount, log, total = unknownTotal } = session;
  const records = log.slice(start - base);
  return { epoch, rev, base, start, next: nextPosition(session), head, headCount, ...total, records, damaged: false };
}

/** The last rounds of a session's log. */
export function roundsOf({ log, base, rounds }: InMemorySession, count: number): StoredRounds {
  return { ...lastRounds(log, { base, count, total: rounds }), damaged: false };
}

/** A page of a session's log. */
export function pageOf(
  session: InMemorySession,
  { from, limit }: { readonly from?: number; readonly limit?: number },
): LogPage {
  const { base, log } = session;
  const next = nextPosition(session);
  const first = Math.min(Math.max(from ?? base, base), next);
  const records = log.slice(first - base, limit === undefined ? undefined : first - base + limit);
  return { records, from: first, base, next, damaged: false };
}

/**
 * Appends to a session, undefined where there is none. Returns the session that results (the same one changed, a new
 * one, or none where there was nothing to write) and the append's result.
 */
export function appendTo(append: PlannedAppend & { readonly session: InMemorySession | undefined }): {
  readonly session: InMemorySession | undefined;
  readonly result: AppendResult;
} {
  const { request, plan } = append;
  const { fresh, duplicates, conflicts } = decideAppend(append, append.session && targetOf(append.session));
  const creates = fresh.length > 0 || Object.keys(request.side?.set ?? {}).length > 0;
  const session = append.session ?? (creates ? newSession() : undefined);
  const counts = { appended: fresh.length, duplicates, conflicts };
  if (session === undefined) {
    return { session, result: { ...counts, next: 0, epoch: "" } };
  }
  session.total = totalAfterAppend(session.total, { fresh, counter: plan.counter });
  for (const { id, digest, record } of fresh) {
    session.ids.set(id, { digest, position: nextPosition(session) });
    session.log.push(record);
    session.rounds += beginsRound(record) ? 1 : 0;
  }
  session.fence = request.fencingToken ?? session.fence;
  applySide(session.side, request.side);
  const result = { ...counts, next: nextPosition(session), epoch: session.epoch };
  const { headCount, start, total = unknownTotal } = session;
  const exceeded = exceedsLimit({ ...total, headCount, start, next: result.next }, request);
  return { session, result: exceeded ? { ...result, view: viewOf(session) } : result };
}

/** Moves the start and replaces the head; false where the session is not as it was read. */
export function commitTo(session: InMemorySession | undefined, request: CommitRequest): session is InMemorySession {
  if (
    session === undefined ||
    request.epoch !== session.epoch ||
    request.rev !== session.rev ||
    request.next > nextPosition(session)
  ) {
    return false;
  }
  const { base } = session;
  if (request.start < base) {
    throw outOfRange("start");
  }
  session.total = totalAfterCommit({ ...(session.total ?? unknownTotal), next: nextPosition(session) }, request);
  session.start = request.start;
  session.head = request.head;
  session.headCount = request.headCount;
  session.rev = randomToken();
  if (request.discard !== undefined) {
    session.log = session.log.slice(request.start - base);
    session.base = request.start;
    forget(session, request.discard.forget, (position) => position < request.start);
  }
  return true;
}

/** Removes the records from a position on; `"ended"` where neither record nor head is left. */
export function rewindTo(session: InMemorySession | undefined, request: RewindRequest): "rewound" | "stale" | "ended" {
  if (
    session === undefined ||
    request.epoch !== session.epoch ||
    request.rev !== session.rev ||
    request.next !== nextPosition(session)
  ) {
    return "stale";
  }
  const { to } = request;
  if (to < session.base) {
    throw outOfRange("to");
  }
  const removed = session.log.splice(to - session.base);
  session.rounds -= removed.filter(beginsRound).length;
  // The request's list is for stores that would have to search for these ids.
  forget(session, [...session.ids.keys()], (position) => position >= to);
  if (to < session.start) {
    Object.assign(session, { head: "", headCount: 0, start: session.base });
  }
  Object.assign(session, { rev: randomToken(), total: unknownTotal });
  return session.log.length === 0 && session.head === "" ? "ended" : "rewound";
}

/**
 * Replaces what is known of the ids by what `identify` says; a record without identity gets one that no message has.
 */
export function reidentify(session: InMemorySession, identify: IdentifyRecord): void {
  const identities = session.log.map((record, index) => identify(record, session.base + index));
  session.ids.clear();
  identities.forEach((identity, index) => {
    if (identity !== undefined && !session.ids.has(identity.id)) {
      session.ids.set(identity.id, { digest: identity.digest, position: session.base + index });
    }
  });
  session.rev = randomToken();
}

function targetOf(session: InMemorySession): AppendTarget {
  const { epoch, base, fence, ids } = session;
  const next = nextPosition(session);
  const digestOf = (id: string) => {
    const stored = ids.get(id);
    return stored !== undefined && stored.position >= base && stored.position < next ? stored.digest : undefined;
  };
  return { epoch, next, fence, digestOf };
}

function forget(session: InMemorySession, ids: readonly string[], gone: (position: number) => boolean): void {
  for (const id of ids) {
    const stored = session.ids.get(id);
    if (stored !== undefined && gone(stored.position)) {
      session.ids.delete(id);
    }
  }
}
