import { maxTries } from "../base/tries.js";
import type { OwnerLists } from "./owner-lists.js";
import type { SessionDescriber } from "./session-describer.js";

/** Grace period of announced but missing sessions, in milliseconds: longer than any write. */
export const announcedGraceMs = 60_000;

/** A missing session, and the state of this process's announcements. */
export interface LeavingSession {
  readonly owner: string;
  readonly sessionId: string;
  /** The stamp of this process's last announcement; undefined if that replaced another process's. */
  stamp: string | undefined;
  /** Writes under way: their announcement stays, although the session may not be there yet. */
  writes: number;
  /** Number of writes that have begun. */
  begun: number;
}

/**
 * Removes a missing session from its owner's list.
 *
 * Reads the entry before the session, so that an entry written or announced in between is not removed, but checked
 * again. The entry stays during this process's writes, because an erasure of the owner finds new sessions by their
 * announcements. Each write checks the session afterwards.
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
