import { checkAppend, defaultLimits, type SizeLimits } from "./request-checks.js";
import { anyDigest, type AppendRequest, type NewRecord, type RecordIdentity } from "./session-writes.js";
import { contentConflict, positionConflict } from "./refusals.js";
import type { SessionRef } from "./session-ref.js";

/** A valid request to append, each id once. */
export interface AppendPlan {
  readonly records: readonly NewRecord[];
  readonly indexes: readonly number[];
  /** Repetitions with the same content. */
  readonly duplicates: number;
  /** Indexes of repetitions with other content; empty unless `onConflict` is `keep`. */
  readonly conflicts: readonly number[];
  /** The request's counter if every record has a count; else undefined. */
  readonly counter: string | undefined;
}

/** A request to append, and the plan that `planAppend` returned for it. */
export interface PlannedAppend {
  readonly session: SessionRef;
  readonly request: AppendRequest;
  readonly plan: AppendPlan;
}

/** State of an existing session that an append depends on. */
export interface AppendTarget {
  readonly epoch: string;
  readonly next: number;
  /** The highest fencing token used so far; 0 where none was. */
  readonly fence: number;
  /** The digest that is stored for a message id; undefined for an id that the log does not hold. */
  digestOf(id: string): string | undefined;
}

/** Which records an append adds, and the counts for the others. */
export interface AppendDecision {
  readonly fresh: readonly NewRecord[];
  readonly duplicates: number;
  /** Indexes in the request, ascending, of records that are left out because their id holds other content. */
  readonly conflicts: readonly number[];
}

/**
 * Checks the size of a request and returns the records to write, without repetitions.
 *
 * @throws StoreError `too_large`; ConflictError `content` for an id
 *   that occurs twice with different content.
 */
export function planAppend(
  session: SessionRef,
  request: AppendRequest,
  limits: SizeLimits = defaultLimits,
): AppendPlan {
  checkAppend(session, request, limits);
  return withoutRepetitions(session.id, request);
}

/**
 * The records of a request without those whose id occurred before in it.
 *
 * @throws ConflictError `content` for an id that occurs twice with different content.
 */
function withoutRepetitions(sessionId: string, request: AppendRequest): AppendPlan {
  const isCounted = request.records.every(({ tokens }) => tokens !== undefined);
  const digests = new Map<string, string>();
  const plan = {
    records: [] as NewRecord[],
    indexes: [] as number[],
    duplicates: 0,
    conflicts: [] as number[],
    counter: isCounted ? request.counter : undefined,
  };
  for (const [index, record] of request.records.entries()) {
    const first = digests.get(record.id);
    if (first === undefined) {
      digests.set(record.id, record.digest);
      plan.records.push(record);
      plan.indexes.push(index);
    } else if (first === record.digest) {
      plan.duplicates += 1;
    } else if (request.onConflict === "keep") {
      plan.conflicts.push(index);
    } else {
      throw contentConflict(sessionId, record.id);
    }
  }
  return plan;
}

/**
 * The hold that an append is checked with. An append that began the session, and all of which is stored, is not refused
 * for the epoch that it gave the session itself.
 */
export function heldAs(append: PlannedAppend, target: AppendTarget | undefined): SessionRef["hold"] {
  const { hold } = append.session;
  return hold?.epoch === "" && target !== undefined && isRepetition(append, target)
    ? { ...hold, epoch: target.epoch }
    : hold;
}

/**
 * Refuses an append that expects the log to end elsewhere. A repeated append is answered, not refused: its first try
 * itself moved the end of the log.
 *
 * @throws ConflictError `position`.
 */
export function refuseOtherPosition(append: PlannedAppend, target: AppendTarget | undefined): void {
  const { session, request } = append;
  const next = target?.next ?? 0;
  if (request.expectedNext !== undefined && request.expectedNext !== next && !isRepetition(append, target)) {
    throw positionConflict(session.id, request.expectedNext, next);
  }
}

/**
 * The records that an append adds, once it is known that it may.
 *
 * @throws ConflictError `content`.
 */
export function decideRecords(append: PlannedAppend, target: AppendTarget | undefined): AppendDecision {
  const { plan, request, session } = append;
  const { fresh, duplicates, conflicts: found } = sortOut(append, target);
  if (request.onConflict !== "keep" && found.length > 0) {
    throw contentConflict(session.id, request.records[found[0]!]!.id);
  }
  const conflicts = [...plan.conflicts, ...found].sort((a, b) => a - b);
  return { fresh, duplicates: plan.duplicates + duplicates, conflicts };
}

/** True if everything that the append adds is stored already. */
function isRepetition(append: PlannedAppend, target: AppendTarget | undefined): boolean {
  const { fresh, conflicts } = sortOut(append, target);
  const isKept = conflicts.length === 0 || append.request.onConflict === "keep";
  return append.plan.records.length > 0 && fresh.length === 0 && isKept;
}

/** Which records are new, how many are stored already, and the indexes of those whose id holds other content. */
function sortOut({ plan }: PlannedAppend, target: AppendTarget | undefined) {
  const fresh: NewRecord[] = [];
  const conflicts: number[] = [];
  let duplicates = 0;
  plan.records.forEach((record, index) => {
    const digest = target?.digestOf(record.id);
    if (digest === undefined) {
      fresh.push(record);
    } else if (digest === record.digest || digest === anyDigest || digest === record.otherDigest) {
      duplicates += 1;
    } else {
      conflicts.push(plan.indexes[index]!);
    }
  });
  return { fresh, duplicates, conflicts };
}

/** True if the last stored records are exactly those of a request, which is then resent after a lost reply. */
export function isResent(last: readonly (RecordIdentity | undefined)[], own: readonly NewRecord[]): boolean {
  const isSame = ({ id, digest }: NewRecord, index: number) => last[index]?.id === id && last[index]?.digest === digest;
  return own.length > 0 && last.length === own.length && own.every(isSame);
}
