import { checkAppend, type SizeLimits } from "./request-checks.js";
import type { AppendRequest, NewRecord, RecordIdentity } from "./session-writes.js";
import { contentConflict } from "./refusals.js";
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

/** The plan of a write without records. */
export const noRecords: AppendPlan = { records: [], indexes: [], duplicates: 0, conflicts: [], counter: undefined };

/**
 * Checks the size of a request and returns the records to write, without repetitions.
 *
 * @throws StoreError `too_large`; ConflictError `content` for an id
 *   that occurs twice with different content.
 */
export function planAppend(session: SessionRef, request: AppendRequest, limits: SizeLimits): AppendPlan {
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

/** True if the last stored records are exactly those of a request, which is then resent after a lost reply. */
export function isResent(last: readonly (RecordIdentity | undefined)[], own: readonly NewRecord[]): boolean {
  const isSame = ({ id, digest }: NewRecord, index: number) => last[index]?.id === id && last[index]?.digest === digest;
  return own.length > 0 && last.length === own.length && own.every(isSame);
}
