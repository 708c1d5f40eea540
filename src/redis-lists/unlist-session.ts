import { maxTries } from "../base/tries.js";
import type { OwnerLists } from "./owner-lists.js";
import type { SessionDescriber } from "./session-describer.js";

/** Milliseconds for which an announced session stays listed although it is missing: longer than a write may take. */
export const announcedGraceMs = 60_000;

/** A session that was found missing, and what this process did about it. */
export interface LeavingSession {
  readonly owner: string;
  readonly sessionId: string;
  /** The stamp of this process's last announcement; undefined where that took the place of another process's. */
  stamp: string | undefined;
  /** Writes under way: their announcement stays, although the session may not be there yet. */
  writes: number;
  /** Number of writes that have begun. */
  begun: number;
}

/**
 * Takes a session that does not exist from its owner's list.
 *
 * The entry is read before the session: one that is written or announced in between is not removed, but looked at
 * again. Where this process writes meanwhile the entry stays: by the announcement of a write an erasure of the owner
 * finds what the write begins. Each write looks at the session afterwards.
 */
export async function unlistSession(
  { owners, describer }: { readonly owners: OwnerLists; readonly describer: SessionDescriber },
  session: LeavingSession,
): Promise<void> {
  const { owner, sessionId, writes, begun, stamp: own } = session;
  let refused: string | undefined;
  for (let attempt = 1; attempt <= maxTries.lists; attempt += 1) {
    const stamp = await owners.stamp(owner, sessionId);
    if (stamp === undefined || stamp === refused || (await describer.describeOf(owner, sessionId)) !== undefined) {
      return;
    }
    const isWritten = writes > 0 || session.begun > begun;
    const graceMs = stamp === own ? 0 : announcedGraceMs;
    if (isWritten || (await owners.drop(owner, [{ sessionId, stamp }], graceMs)) === 1) {
      return;
    }
    refused = stamp;
  }
}
