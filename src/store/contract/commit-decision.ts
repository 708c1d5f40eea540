import { outOfRange } from "./refusals.js";
import type { ReadState, SessionView } from "./session-reads.js";
import type { CommitRequest } from "./session-writes.js";
import { totalAfterCommit, type TokenTotal } from "./token-total.js";

/** The parts of a session on which a commit depends. */
export interface CommitTarget extends TokenTotal, Pick<SessionView, "epoch" | "rev" | "base" | "next"> {
  /** The position that is stored for a message id; undefined for an id that the log does not hold. */
  positionOf(id: string): number | undefined;
}

/** The fields of a session that a commit changes; records before `base` are removed. */
export type CommitDecision = TokenTotal & Pick<SessionView, "base" | "start" | "head" | "headCount">;

/**
 * Decides a compare-and-set of a reduction; the session is undefined if it does not exist. Returns the new values of
 * its fields. Changes nothing; the store gives the session a new `rev`.
 *
 * @throws ConfigurationError `start`.
 */
export function decideCommit(request: CommitRequest, target: CommitTarget | undefined): CommitDecision | "stale" {
  if (target === undefined || request.next > target.next || !isSameLog(target, request)) {
    return "stale";
  }
  if (request.start < target.base || request.start > target.next) {
    throw outOfRange("start");
  }
  const { start, head, headCount, discard } = request;
  const base = discard === true ? start : target.base;
  return { base, start, head, headCount, ...totalAfterCommit(target, request) };
}

/** True if the session is as it was read, except for later appends. */
export function isSameLog(
  { epoch, rev, positionOf }: Pick<CommitTarget, "epoch" | "rev" | "positionOf">,
  read: ReadState,
): boolean {
  const isSame = epoch === read.epoch && rev === read.rev;
  return isSame && (read.lastId === undefined || positionOf(read.lastId) === read.next - 1);
}
