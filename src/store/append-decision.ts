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
  const { plan, request, session } = append;
  refuseUnlessExpected(append, target);
  const { fresh, duplicates, conflicts: found } = sortOut(append, target);
  if (request.onConflict !== "keep" && found.length > 0) {
    throw contentConflict(session.id, request.records[found[0]!]!.id);
  }
  const conflicts = [...plan.conflicts, ...found].sort((a, b) => a - b);
  return { fresh, duplicates: plan.duplicates + duplicates, conflicts };
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

/**
 * Refuses an append whose hold is over or whose expected position is wrong. Every store checks this before a cut and
 * before content.
 *
 * @throws ConflictError `epoch`, `fenced` or `position`.
 */
export function refuseUnlessExpected(append: PlannedAppend, target: AppendTarget | undefined): void {
  const { session, request, plan } = append;
  const { expectedNext } = request;
  const { epoch, next, fence } = target ?? { epoch: "", next: 0, fence: 0 };
  const { fresh, conflicts } = sortOut(append, target);
  // A repeated append is answered, not refused: the first try itself moved the session on.
  const refused = request.onConflict !== "keep" && conflicts.length > 0;
  const repeats = plan.records.length > 0 && fresh.length === 0 && !refused;
  const creates = repeats && session.hold?.epoch === "";
  refuseFenced(creates ? { ...session, hold: { ...session.hold, epoch } } : session, { epoch, fence });
  if (expectedNext !== undefined && expectedNext !== next && !repeats) {
    throw positionConflict(session.id, expectedNext, next);
  }
}
