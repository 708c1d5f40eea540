import { decideAppend, refuseUnlessExpected, type AppendTarget, type PlannedAppend } from "../store/append-decision.js";
import { anyDigest, type AppendResult, type NewRecord, type ReplaceTailRequest } from "../store/session-writes.js";
import { outOfRange } from "../store/refusals.js";
import { beginsRound } from "../store/record-text.js";
import type { StoredTurn } from "../store/turns.js";
import { applySide } from "../store/side-fields.js";
import { exceedsLimit, totalAfterAppend, unknownTotal } from "../store/token-total.js";
import { aheadIn, takeIn } from "./holds.js";
import { claimSession, countUsage } from "./owners.js";
import { isAsRead, newSession, nextPosition, truncate, viewOf, type InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";
import { withKey } from "../store/writer-keys.js";
import { markTurn, storedTurn } from "./turns.js";

interface Append extends PlannedAppend {
  readonly request: PlannedAppend["request"] & Partial<Pick<ReplaceTailRequest, "cut">>;
  /** Undefined if the session does not exist. */
  readonly stored: InMemorySession | undefined;
  /** The store's time. */
  readonly now: number;
}

/** The resulting session and the result of the append. */
export interface Appended<Result> {
  readonly session: InMemorySession | undefined;
  readonly result: Result;
}

/**
 * Appends to a session; `stored` is undefined if it does not exist. Returns the session that results (the same one
 * changed, a new one, or undefined if there was nothing to write) and the append's result.
 */
export function appendTo(append: Append): Appended<AppendResult> {
  const { request } = append;
  const repeated = repeatedTurn(append);
  const waiting = waitingPlace(append, repeated);
  if (waiting !== undefined) {
    return { session: append.stored, result: waiting };
  }
  if (repeated !== undefined) {
    return { session: append.stored, result: { ...repeated, ...openedPlace(append, repeated) } };
  }
  const target = append.stored && targetOf(append.stored, request.cut?.to);
  const differing = differingRecords(append, target);
  if (differing.length > 0) {
    const counts = { appended: 0, duplicates: 0, conflicts: [] };
    return { session: append.stored, result: { ...counts, next: target!.next, epoch: target!.epoch, differing } };
  }
  const { fresh, duplicates, conflicts } = decideAppend(append, target);
  const creates = fresh.length > 0 || Object.keys(request.side?.set ?? {}).length > 0;
  const session = append.stored ?? (creates ? newSession() : undefined);
  const counts = { appended: fresh.length, duplicates, conflicts };
  if (session === undefined) {
    return { session, result: { ...counts, next: 0, epoch: "" } };
  }
  if (request.cut !== undefined) {
    truncate(session, request.cut);
  }
  addRecords(session, append, fresh);
  const place = request.take && takeIn(session, request.take, append.now);
  if (session.queue.holder?.ticket === request.giveBack) {
    session.queue.holder = undefined;
  }
  return { session, result: { ...resultOf(session, append, counts), ...(place && { place }) } };
}

/** The result of an append whose ticket is queued; undefined if it has the hold or needs none. */
function waitingPlace({ stored, request, now }: Append, repeated: AppendResult | undefined): AppendResult | undefined {
  const isDone = repeated?.turn?.done === true;
  const ahead = stored === undefined || isDone ? undefined : request.take && aheadIn(stored, request.take, now);
  const counts = { appended: 0, duplicates: 0, conflicts: [] };
  return ahead === undefined
    ? undefined
    : { ...counts, next: nextPosition(stored!), epoch: stored!.epoch, place: { isHeld: false, ahead } };
}

/** Acquires the hold for a writer whose turn is open. */
function openedPlace({ stored, request, now }: Append, { turn }: AppendResult): Pick<AppendResult, "place"> {
  const isOpen = stored !== undefined && turn?.done === false;
  return isOpen && request.take ? { place: takeIn(stored, request.take, now) } : {};
}

/** Replaces the tail of the log; `stale` if the session has changed since it was read. */
export function replaceTailOf(
  append: Append & { readonly request: ReplaceTailRequest },
): Appended<AppendResult | "stale"> {
  const { stored: session, request } = append;
  const repeated = repeatedTurn(append);
  if (repeated === undefined) {
    // As in append.lua: the hold and the position come before the cut.
    const nowhere = { epoch: "", fence: 0, next: request.cut.to, digestOf: () => undefined };
    refuseUnlessExpected(append, session === undefined ? nowhere : targetOf(session, request.cut.to));
    if (session === undefined || !isAsRead(session, request.cut)) {
      return { session, result: "stale" };
    }
    if (request.cut.to < session.base) {
      throw outOfRange("to");
    }
  }
  return appendTo(append);
}

/** Stores the session after an append; an append that found its turn stored wrote nothing. */
export function keptAppend(
  sessions: InMemorySessions,
  { session: { id }, request }: Pick<Append, "session" | "request">,
  { session, result }: Appended<AppendResult>,
): AppendResult {
  if (result.turn !== undefined || result.place?.isHeld === false) {
    return result;
  }
  sessions.keep(id, session, request.ttlMs);
  return session === undefined ? result : { ...result, time: sessions.now() };
}

/** Records whose id is stored with another digest, if the writer asks for them. */
function differingRecords({ session: { keys }, stored: session, plan }: Append, target: AppendTarget | undefined) {
  if (session === undefined || keys?.compare !== true) {
    return [];
  }
  return plan.records.flatMap(({ id, digest }, number) => {
    const stored = target!.digestOf(id);
    const record = session.log[(session.ids.get(id)?.position ?? 0) - session.base];
    const index = plan.indexes[number]!;
    return stored === undefined || stored === digest || stored === anyDigest
      ? []
      : [record === undefined ? { index, digest: stored } : { index, record }];
  });
}

function repeatedTurn(append: Append): AppendResult | undefined {
  const { stored: session = newSession(), request, plan } = append;
  const turn = request.turn && storedTurn(session, request.turn);
  const duplicates = plan.duplicates + plan.records.length;
  if (turn === undefined) {
    return undefined;
  }
  const result = resultOf(session, append, { appended: 0, duplicates, conflicts: [] });
  const found = isSame(session, append, turn) ? { ...turn, same: true as const } : turn;
  return { ...result, epoch: append.stored?.epoch ?? "", turn: found };
}

/** True if the turn is open and already has the records of this append. */
function isSame(session: InMemorySession, { request, plan }: Append, turn: StoredTurn): boolean {
  const { digestOf } = targetOf(session, undefined);
  const isCount = !turn.done && turn.count === request.turn!.stored + plan.records.length;
  return isCount && plan.records.length > 0 && plan.records.every(({ id, digest }) => digestOf(id) === digest);
}

function resultOf(
  session: InMemorySession,
  { request }: Append,
  counts: Pick<AppendResult, "appended" | "duplicates" | "conflicts">,
): AppendResult {
  const result = { ...counts, next: nextPosition(session), epoch: session.epoch };
  const { headCount, start, total = unknownTotal } = session;
  const exceeded = exceedsLimit({ ...total, headCount, start, next: result.next }, request);
  return exceeded ? { ...result, view: viewOf(session) } : result;
}

function addRecords(
  session: InMemorySession,
  { session: caller, request, plan }: Append,
  fresh: readonly NewRecord[],
): void {
  const first = nextPosition(session);
  session.total = totalAfterAppend(session.total, { fresh, counter: plan.counter });
  for (const { id, digest, record } of fresh) {
    session.ids.set(id, { digest, position: nextPosition(session) });
    session.log.push(record);
    session.rounds += beginsRound(record) ? 1 : 0;
  }
  if (request.turn !== undefined) {
    markTurn(session.turns, { claim: request.turn, count: fresh.length, first });
  }
  session.fence = caller.hold?.token ?? session.fence;
  const writes = fresh.length > 0 || Object.keys(request.side?.set ?? {}).length > 0;
  session.key = withKey(session.key, writes ? caller.keys?.current : undefined);
  claimSession(session, caller);
  countUsage(session, fresh);
  applySide(session.side, request.side);
}

/** `to` is the position at which the append cuts the log. */
function targetOf(session: InMemorySession, to: number | undefined): AppendTarget {
  const { epoch, fence, ids } = session;
  const next = to ?? nextPosition(session);
  const digestOf = (id: string) => {
    const stored = ids.get(id);
    return stored !== undefined && stored.position < next ? stored.digest : undefined;
  };
  return { epoch, next, fence, digestOf };
}
