import { type AppendPlan, beginsRound } from "../contract/append-decision.js";
import { type SessionRef, keyParts } from "../contract/session-ref.js";
import { anyDigest, applySide } from "../contract/session-writes.js";
import type { AppendResult, LogWrite, NewRecord, StoredTurn } from "../contract/session-writes.js";
import { contentConflict, OtherDigests, positionConflict } from "../contract/refusals.js";
import {
  exceedsLimit,
  totalAfterAppend,
  unknownTotal,
  isEmpty,
  isUnchanged,
  newSession,
  nextPosition,
  noteKey,
  truncate,
  viewOf,
  markTurn,
  storedTurn,
  aheadIn,
  takeIn,
} from "./session.js";
import type { InMemorySession } from "./session.js";
import { claimSession, countUsage, everyCheck, type InMemorySessions, type Repetition } from "./sessions.js";

interface PlannedWrite {
  readonly session: SessionRef;
  readonly request: LogWrite;
  readonly plan: AppendPlan;
}

interface Append extends PlannedWrite {
  /** Undefined if the session does not exist. */
  readonly stored: InMemorySession | undefined;
  /** The store's time. */
  readonly now: number;
}

/** Carries out a write; `stale` if the end that it cuts, or a side field that it expects, is not as it was read. */
export function appendTo(sessions: InMemorySessions, planned: PlannedWrite): AppendResult | "stale" {
  const { session: caller, request } = planned;
  const now = sessions.now();
  const { stored, answer } = sessions.admit("append", caller, everyCheck, (session) =>
    repetitionOf({ ...planned, stored: session, now }),
  );
  const append = { ...planned, stored, now };
  const isOpen = answer?.turn?.done === false;
  const waiting = answer === undefined || isOpen ? waitingPlace(append) : undefined;
  if (waiting !== undefined || answer !== undefined) {
    return waiting ?? { ...answer!, ...(isOpen && openedPlace(append)) };
  }
  const next = endOf(append);
  // A repeated append is answered, not refused: its first try itself moved the end of the log.
  if (request.expectedNext !== undefined && request.expectedNext !== next && !isRepetition(append)) {
    throw positionConflict(caller.id, request.expectedNext, next);
  }
  if (!isAsExpected(append)) {
    return "stale";
  }
  return written(sessions, append);
}

function isAsExpected({ stored, request: { cut, side } }: Append): boolean {
  const isSame = cut === undefined || (stored !== undefined && isUnchanged(stored, cut));
  return isSame && Object.entries(side?.expected ?? {}).every(([name, value]) => stored?.side.get(name) === value);
}

/** The answer to a repeated append: its turn is stored. @throws OtherDigests. */
function repetitionOf(append: Append): Repetition<AppendResult> {
  const answer = repeatedTurn(append);
  if (answer !== undefined) {
    return { answer };
  }
  refuseOtherDigests(append);
  // An append that began the session, and is all stored, is not refused for the epoch that it gave the session itself.
  const { stored, session } = append;
  const isOwnEpoch = session.hold?.epoch === "" && stored !== undefined && isRepetition(append);
  return { hold: isOwnEpoch ? { ...session.hold, epoch: stored.epoch } : session.hold };
}

function written(sessions: InMemorySessions, append: Append) {
  const { session: caller, request, stored, now, plan } = append;
  const { fresh, conflicts: other, ...sorted } = sortOut(append);
  if (request.onConflict !== "keep" && other.length > 0) {
    throw contentConflict(caller.id, request.records[other[0]!]!.id);
  }
  const duplicates = plan.duplicates + sorted.duplicates;
  const conflicts = [...plan.conflicts, ...other].sort((a, b) => a - b);
  const creates = fresh.length > 0 || Object.keys(request.side?.set ?? {}).length > 0;
  const session = stored ?? (creates ? newSession() : undefined);
  const counts = { appended: fresh.length, duplicates, conflicts };
  if (session === undefined) {
    return { ...counts, next: 0, epoch: "" };
  }
  if (request.cut !== undefined) {
    truncate(session, request.cut);
  }
  if (creates) {
    noteKey(session, caller);
  }
  addRecords(session, append, fresh);
  const place = request.take && takeIn(session, request.take, now);
  if (session.queue.holder?.ticket === request.release) {
    session.queue.holder = undefined;
  }
  if (isRewind(request) && isEmpty(session)) {
    sessions.delete(caller.id);
  } else {
    sessions.keep(caller.id, session, request.ttlMs);
  }
  return { ...resultOf(session, append, counts), ...(place && { place }) };
}

/** True for a write that only removes records: it claims nothing. */
function isRewind({ cut, records }: LogWrite): boolean {
  return cut !== undefined && records.length === 0;
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
function refuseOtherDigests(append: Append): void {
  const { session, stored, plan } = append;
  const { keys } = session;
  const mayBePlain = stored?.key === undefined || keyParts(stored.key).hasPlain;
  if (keys === undefined || !mayBePlain || plan.records.some(({ otherDigest }) => otherDigest !== undefined)) {
    return;
  }
  const isOther = (digest: string, old: string | undefined) => old !== undefined && old !== digest && old !== anyDigest;
  if (plan.records.some(({ id, digest }) => isOther(digest, digestOf(append, id)))) {
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
  const repeat = isSame(session, append, turn) ? { ...turn, same: true as const } : turn;
  return { ...result, epoch: append.stored?.epoch ?? "", turn: repeat };
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
  session.total = totalAfterAppend(session.total, fresh, plan.counter);
  for (const { id, digest, record } of fresh) {
    session.ids.set(id, { digest, position: nextPosition(session) });
    session.log.push(record);
    session.rounds += beginsRound(record) ? 1 : 0;
  }
  if (request.turn !== undefined) {
    markTurn(session.turns, { claim: request.turn, count: fresh.length, first });
  }
  session.fence = caller.hold?.token ?? session.fence;
  if (!isRewind(request)) {
    claimSession(session, caller);
  }
  countUsage(session, fresh);
  applySide(session.side, request.side);
}

/** Which records are new, how many are stored already, and the indexes of those whose id holds other content. */
function sortOut(append: Append) {
  const fresh: NewRecord[] = [];
  const conflicts: number[] = [];
  let duplicates = 0;
  append.plan.records.forEach((record, index) => {
    const digest = digestOf(append, record.id);
    if (digest === undefined) {
      fresh.push(record);
    } else if ([record.digest, record.otherDigest, anyDigest].includes(digest)) {
      duplicates += 1;
    } else {
      conflicts.push(append.plan.indexes[index]!);
    }
  });
  return { fresh, duplicates, conflicts };
}

/** True if everything that the append adds is stored already. */
function isRepetition(append: Append): boolean {
  const { fresh, conflicts } = sortOut(append);
  const isKept = conflicts.length === 0 || append.request.onConflict === "keep";
  return append.plan.records.length > 0 && fresh.length === 0 && isKept;
}

/** The end of the log as the append finds it, behind its cut. */
function endOf({ stored, request: { cut } }: Append): number {
  return cut?.to ?? (stored === undefined ? 0 : nextPosition(stored));
}

/** The digest of a message in the log that the append finds. */
function digestOf(append: Append, id: string): string | undefined {
  return append.stored && digestIn(append.stored, id, endOf(append));
}

/** The digest of a message in the log before `next`. */
function digestIn(session: InMemorySession, id: string, next: number): string | undefined {
  const stored = session.ids.get(id);
  return stored !== undefined && stored.position < next ? stored.digest : undefined;
}
