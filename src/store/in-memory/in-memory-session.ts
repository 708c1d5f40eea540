import { beginsRound } from "../rounds.js";
import { contentConflict, epochConflict, fenced, outOfRange, positionConflict } from "../refusals.js";
import { randomToken } from "../random-token.js";
import type { AppendPlan } from "../request-checks.js";
import { applySide } from "../side-fields.js";
import type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  RecordIdentity,
  RewindRequest,
  SessionView,
  ViewLimit,
} from "../session-store.js";

/**
 * All that is kept about a session, as plain data. What the Redis store's scripts do to keys, the functions of this
 * file do to it.
 */
export interface InMemorySession {
  readonly epoch: string;
  rev: string;
  base: number;
  start: number;
  head: string;
  headCount: number;
  tokens: number | undefined;
  counter: string;
  rounds: number;
  fence: number;
  /** True once a record was appended or a reduction committed; a session may consist of side fields alone. */
  begun: boolean;
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
    tokens: undefined,
    counter: "",
    rounds: 0,
    fence: 0,
    begun: false,
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
  const { epoch, rev, base, start, head, headCount, tokens, counter, log } = session;
  const records = log.slice(start - base);
  return {
    epoch,
    rev,
    base,
    start,
    next: nextPosition(session),
    head,
    headCount,
    tokens,
    counter,
    records,
    damaged: false,
  };
}

interface Append {
  readonly sessionId: string;
  readonly request: AppendRequest;
  readonly plan: AppendPlan;
  /** Undefined where there is no session yet. */
  readonly session: InMemorySession | undefined;
}

/**
 * What an append did, and the session it left: the same one changed, a new one, or none where there was nothing to
 * write.
 */
export function appendTo(append: Append): {
  readonly session: InMemorySession | undefined;
  readonly result: AppendResult;
} {
  const { request, plan } = append;
  const found = sortOut(append);
  refuseUnlessExpected(append, found);
  const creates = found.fresh.length > 0 || Object.keys(request.side?.set ?? {}).length > 0;
  const session = append.session ?? (creates ? newSession() : undefined);
  const conflicts = [...plan.conflicts, ...found.conflicts].sort((a, b) => a - b);
  const counts = { appended: found.fresh.length, duplicates: plan.duplicates + found.duplicates, conflicts };
  if (session === undefined) {
    return { session, result: { ...counts, next: 0, epoch: "" } };
  }
  countTokens(session, { fresh: found.fresh, counter: plan.counter });
  for (const { id, digest, record } of found.fresh) {
    session.ids.set(id, { digest, position: nextPosition(session) });
    session.log.push(record);
    session.rounds += beginsRound(record) ? 1 : 0;
    session.begun = true;
  }
  session.fence = request.fencingToken ?? session.fence;
  applySide(session.side, request.side);
  const view = exceeds(session, request) ? viewOf(session) : undefined;
  return { session, result: { ...counts, next: nextPosition(session), epoch: session.epoch, ...(view && { view }) } };
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
  session.tokens = tokensAfter(session, request);
  session.counter = session.tokens === undefined ? "" : request.counter!;
  session.start = request.start;
  session.head = request.head;
  session.headCount = request.headCount;
  session.rev = randomToken();
  session.begun = true;
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
  Object.assign(session, { rev: randomToken(), tokens: undefined, counter: "" });
  return session.log.length === 0 && session.head === "" ? "ended" : "rewound";
}

/**
 * Replaces what is known of the ids by what `identify` says; a record without identity gets one that no message has.
 */
export function reidentify(
  session: InMemorySession,
  identify: (record: string, position: number) => RecordIdentity | undefined,
): void {
  const identities = session.log.map((record, index) => identify(record, session.base + index));
  session.ids.clear();
  identities.forEach((identity, index) => {
    if (identity !== undefined && !session.ids.has(identity.id)) {
      session.ids.set(identity.id, { digest: identity.digest, position: session.base + index });
    }
  });
  session.rev = randomToken();
}

function sortOut({ session, plan }: Append) {
  const found = { fresh: [] as AppendPlan["records"][number][], duplicates: 0, conflicts: [] as number[] };
  plan.records.forEach((record, index) => {
    const stored = session?.ids.get(record.id);
    if (
      session === undefined ||
      stored === undefined ||
      stored.position < session.base ||
      stored.position >= nextPosition(session)
    ) {
      found.fresh.push(record);
    } else if (stored.digest === record.digest) {
      found.duplicates += 1;
    } else {
      found.conflicts.push(plan.indexes[index]!);
    }
  });
  return found;
}

function refuseUnlessExpected(
  { sessionId, session, request, plan }: Append,
  { fresh, conflicts }: ReturnType<typeof sortOut>,
): void {
  // A repetition of an append that has happened is answered, though the session has moved on since, by that very
  // append.
  const refused = request.onConflict !== "keep" && conflicts.length > 0;
  const repeats = plan.records.length > 0 && fresh.length === 0 && !refused;
  const epoch = session?.epoch ?? "";
  const next = session === undefined ? 0 : nextPosition(session);
  if (
    request.expectedEpoch !== undefined &&
    request.expectedEpoch !== epoch &&
    !(repeats && request.expectedEpoch === "")
  ) {
    throw epochConflict(sessionId);
  }
  if (request.fencingToken !== undefined && request.fencingToken < (session?.fence ?? 0)) {
    throw fenced(sessionId);
  }
  if (request.expectedNext !== undefined && request.expectedNext !== next && !repeats) {
    throw positionConflict(sessionId, request.expectedNext, next);
  }
  if (refused) {
    throw contentConflict(sessionId, request.records[conflicts[0]!]!.id);
  }
}

function countTokens(
  session: InMemorySession,
  { fresh, counter }: { fresh: AppendPlan["records"]; counter: string | undefined },
): void {
  if (fresh.length === 0) {
    return;
  }
  const before = session.begun ? (session.counter === counter ? session.tokens : undefined) : 0;
  const added = fresh.reduce((sum, { tokens = 0 }) => sum + tokens, 0);
  session.tokens = counter === undefined || before === undefined ? undefined : before + added;
  session.counter = session.tokens === undefined ? "" : counter!;
}

function exceeds(
  session: InMemorySession,
  { viewLimit, counter }: { readonly viewLimit?: ViewLimit; readonly counter?: string },
): boolean {
  const { messages, tokens } = viewLimit ?? {};
  if (messages !== undefined && session.headCount + nextPosition(session) - session.start > messages) {
    return true;
  }
  return (
    tokens !== undefined && (session.tokens === undefined || session.counter !== counter || session.tokens > tokens)
  );
}

function tokensAfter(
  session: InMemorySession,
  { next, tokens, counter, tokensRead }: CommitRequest,
): number | undefined {
  if (tokens === undefined || counter === undefined || nextPosition(session) === next) {
    return counter === undefined ? undefined : tokens;
  }
  const known = session.tokens !== undefined && session.counter === counter && tokensRead !== undefined;
  return known ? tokens + (session.tokens! - tokensRead) : undefined;
}

function forget(session: InMemorySession, ids: readonly string[], gone: (position: number) => boolean): void {
  for (const id of ids) {
    const stored = session.ids.get(id);
    if (stored !== undefined && gone(stored.position)) {
      session.ids.delete(id);
    }
  }
}
