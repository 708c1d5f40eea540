import {
  decideRecords,
  heldAs,
  refuseOtherPosition,
  type AppendDecision,
  type AppendTarget,
  type PlannedAppend,
} from "../contract/append-decision.js";
import { anyDigest, type AppendResult, type NewRecord, type ReplaceTailRequest } from "../contract/session-writes.js";
import { mostClockSkew, OtherDigests, outOfRange, WrongStamp } from "../contract/refusals.js";
import { beginsRound } from "../contract/record-text.js";
import type { StoredTurn } from "../contract/turns.js";
import { applySide } from "../contract/side-fields.js";
import { exceedsLimit, totalAfterAppend, unknownTotal } from "../contract/token-total.js";
import { aheadIn, takeIn } from "./holds.js";
import { claimSession, countUsage } from "./owners.js";
import { isAsRead, newSession, nextPosition, noteKey, truncate, viewOf, type InMemorySession } from "./session.js";
import type { Repetition } from "./gate.js";
import type { InMemorySessions } from "./sessions.js";
import { keyParts } from "../contract/writer-keys.js";
import { markTurn, storedTurn } from "./turns.js";

interface PlannedWrite extends PlannedAppend {
  readonly request: PlannedAppend["request"] & Partial<Pick<ReplaceTailRequest, "cut">>;
}

interface Append extends PlannedWrite {
  /** Undefined if the session does not exist. */
  readonly stored: InMemorySession | undefined;
  /** The store's time. */
  readonly now: number;
}

/** Appends to a session, replacing the end named by a cut; `stale` if that end has changed since it was read. */
export function appendTo(
  sessions: InMemorySessions,
  planned: PlannedAppend & { readonly request: ReplaceTailRequest },
): AppendResult | "stale";
export function appendTo(sessions: InMemorySessions, planned: PlannedAppend): AppendResult;
export function appendTo(sessions: InMemorySessions, planned: PlannedWrite): AppendResult | "stale" {
  const { session: caller, request } = planned;
  const now = sessions.now();
  const { stored, answer } = sessions.writableOnce("append", caller, (found) =>
    repetitionOf({ ...planned, stored: found, now }),
  );
  const append = { ...planned, stored, now };
  const isOpen = answer?.turn?.done === false;
  const waiting = answer === undefined || isOpen ? waitingPlace(append) : undefined;
  if (waiting !== undefined || answer !== undefined) {
    return waiting ?? { ...answer!, ...(isOpen && openedPlace(append)) };
  }
  if (Math.abs(now - (request.stampedAt ?? now)) > mostClockSkew) {
    throw new WrongStamp(now);
  }
  const target = targetOf(append);
  refuseOtherPosition(append, target);
  if (request.cut !== undefined && (stored === undefined || !isAsRead(stored, request.cut))) {
    return "stale";
  }
  const { to = 0, next: end = 0 } = request.cut ?? {};
  if (request.cut !== undefined && (to < stored!.base || to > end)) {
    throw outOfRange("to");
  }
  return written(sessions, append, decideRecords(append, target));
}

/** The answer to a repeated append: its turn is stored. @throws OtherDigests. */
function repetitionOf(append: Append): Repetition<AppendResult> {
  const target = targetOf(append);
  const answer = repeatedTurn(append);
  if (answer === undefined) {
    refuseOtherDigests(append, target);
  }
  return answer === undefined ? { hold: heldAs(append, target) } : { answer };
}

function written(sessions: InMemorySessions, append: Append, { fresh, duplicates, conflicts }: AppendDecision) {
  const { session: caller, request, stored, now } = append;
  const creates = fresh.length > 0 || Object.keys(request.side?.set ?? {}).length > 0;
  const session = stored ?? (creates ? newSession() : undefined);
  const counts = { appended: fresh.length, duplicates, conflicts };
  if (session === undefined) {
    return { ...counts, next: 0, epoch: "" };
  }
  if (request.cut !== undefined) {
    truncate(session, request.cut);
  }
  addRecords(session, append, fresh);
  const place = request.take && takeIn(session, request.take, now);
  if (session.queue.holder?.ticket === request.release) {
    session.queue.holder = undefined;
  }
  sessions.keep(caller.id, session, request.ttlMs);
  return { ...resultOf(session, append, counts), ...(place && { place }), time: now };
}

/** The result of an append whose ticket is queued; undefined if it has the hold or needs none. */
function waitingPlace({ stored, request, now }: Append): AppendResult | undefined {
  const ahead = stored === undefined ? undefined : request.take && aheadIn(stored, request.take, now);
  const counts = { appended: 0, duplicates: 0, conflicts: [] };
  return ahead === undefined
    ? undefined
    : { ...counts, next: nextPosition(stored!), epoch: stored!.epoch, place: { isHeld: false, ahead } };
}

/** Acquires the hold for a writer whose turn is open. */
function openedPlace({ stored, request, now }: Append): Pick<AppendResult, "place"> {
  return stored !== undefined && request.take ? { place: takeIn(stored, request.take, now) } : {};
}

/** Asks a writer that encrypts for the digests of plain text where the session may hold it under these ids. */
function refuseOtherDigests({ session: { keys }, stored, plan }: Append, target: AppendTarget | undefined): void {
  const mayBePlain = stored?.key === undefined || keyParts(stored.key).hasPlain;
  if (keys === undefined || !mayBePlain || plan.records.some(({ otherDigest }) => otherDigest !== undefined)) {
    return;
  }
  const isOther = (digest: string, found: string | undefined) =>
    found !== undefined && found !== digest && found !== anyDigest;
  if (plan.records.some(({ id, digest }) => isOther(digest, target?.digestOf(id)))) {
    throw new OtherDigests();
  }
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
  const next = nextPosition(session);
  const isCount = !turn.done && turn.count === request.turn!.stored + plan.records.length;
  return (
    isCount && plan.records.length > 0 && plan.records.every(({ id, digest }) => digestIn(session, id, next) === digest)
  );
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
  if (fresh.length > 0 || Object.keys(request.side?.set ?? {}).length > 0) {
    noteKey(session, caller);
  }
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
  claimSession(session, caller);
  countUsage(session, fresh);
  applySide(session.side, request.side);
}

/** The session as the append finds it, behind its cut; undefined if there is neither. */
function targetOf({ stored, request: { cut } }: Pick<Append, "stored" | "request">): AppendTarget | undefined {
  if (stored === undefined) {
    return cut && { epoch: "", fence: 0, next: cut.to, digestOf: () => undefined };
  }
  const { epoch, fence } = stored;
  const next = cut?.to ?? nextPosition(stored);
  return { epoch, next, fence, digestOf: (id) => digestIn(stored, id, next) };
}

/** The digest of a message in the log before `next`. */
function digestIn(session: InMemorySession, id: string, next: number): string | undefined {
  const stored = session.ids.get(id);
  return stored !== undefined && stored.position < next ? stored.digest : undefined;
}
