import { anyDigest, type AppendRequest, type NewRecord } from "./session-writes.js";
import { contentConflict, positionConflict, refuseFenced } from "./refusals.js";
import type { AppendPlan } from "./append-plan.js";
import type { SessionRef } from "./session-ref.js";

/** A request to append, and the plan that `planAppend` returned for it. */
export interface PlannedAppend {
  /** The session to append to. */
  readonly session: SessionRef;
  /** The request as it was made. */
  readonly request: AppendRequest;
  /** The result of `planAppend` for the request. */
  readonly plan: AppendPlan;
}

/** State of an existing session that an append depends on. */
export interface AppendTarget {
  /** The session's epoch. */
  readonly epoch: string;
  /** The position that the next record will get. */
  readonly next: number;
  /** The highest fencing token used so far; 0 where none was. */
  readonly fence: number;
  /** The digest that is stored for a message id; undefined for an id that the log does not hold. */
  digestOf(id: string): string | undefined;
}

/** Which records an append adds, and the counts for the others. */
export interface AppendDecision {
  /** Records to add, in this order. */
  readonly fresh: readonly NewRecord[];
  /** Number of records that are left out, because they are stored already. */
  readonly duplicates: number;
  /** Indexes in the request, ascending, of records that are left out because their id holds other content. */
  readonly conflicts: readonly number[];
}

/**
 * Decides what an append adds to a session, which is undefined if it does not exist yet. Changes nothing.
 *
 * @throws ConflictError `epoch`, `fenced`, `position` or `content`.
 */
export function decideAppend(append: PlannedAppend, target: AppendTarget | undefined): AppendDecision {
  refuseFenced({ ...append.session, hold: heldAs(append, target) }, target);
  refuseOtherPosition(append, target);
  return decideRecords(append, target);
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
    } else if (digest === record.digest || digest === anyDigest) {
      duplicates += 1;
    } else {
      conflicts.push(plan.indexes[index]!);
    }
  });
  return { fresh, duplicates, conflicts };
}
