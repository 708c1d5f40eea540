import { MemoryError } from "../../base/errors.js";
import { scanKeys, type FoundSession, type KeyScan } from "../redis/scan-keys.js";
import type { ListPlace, ListsReindex } from "../contract/lists.js";
import type { OwnerLists } from "./owner-lists.js";
import type { StoredDetails } from "./stored-details.js";

const pageLength = 100;

/** Context of a reindexing. */
export interface Reindexing extends ListsReindex {
  readonly scan: KeyScan;
  readonly lists: OwnerLists;
  readonly details: StoredDetails;
  readonly graceMs: number;
}

/** Lists every session under its owner, and drops entries of ended ones. Returns the number of those with an owner. */
export async function reindexSessions(reindexing: Reindexing): Promise<number> {
  const { scan, onProgress } = reindexing;
  const seen = new Set<string>();
  const owners = new Set<string>();
  for await (const page of scanKeys(scan)) {
    const fresh = page.sessions.filter(({ sessionId, owner }) => owner !== undefined && !seen.has(sessionId));
    fresh.forEach(({ sessionId }) => seen.add(sessionId));
    page.owners.forEach((owner) => owners.add(owner));
    for (let first = 0; first < fresh.length; first += pageLength) {
      await Promise.all(
        fresh.slice(first, first + pageLength).map((session) => enterUnlessRefused(session, reindexing)),
      );
      onProgress?.({ sessions: seen.size });
    }
  }
  for (const owner of owners) {
    await dropEnded(owner, reindexing);
  }
  return seen.size;
}

/** Enters a session by its last write. One that cannot be read is reported; one that lost its state comes last. */
async function enterUnlessRefused(
  { sessionId, owner }: FoundSession,
  { lists, details, onProblem }: Reindexing,
): Promise<void> {
  try {
    const session = await details.describe({ id: sessionId });
    const listedBy = session === undefined ? owner : session.owner;
    if (listedBy !== undefined) {
      const { updatedAt = 0, expiresAt } = session ?? {};
      // By the server's clock, so from the last write on.
      const ttlMs = expiresAt === undefined ? undefined : Math.max(0, expiresAt - updatedAt);
      await lists.enter(listedBy, sessionId, { ttlMs, keepsPlace: true, score: updatedAt * 1_000 });
    }
  } catch (error) {
    if (onProblem === undefined || !MemoryError.isInstance(error) || error.retryable) {
      throw error;
    }
    onProblem({ sessionId, error });
  }
}

async function dropEnded(owner: string, { lists, details, graceMs }: Reindexing): Promise<void> {
  let before: ListPlace | undefined;
  do {
    const { entries, next } = await lists.page(owner, { limit: pageLength, before });
    const { ended } = await details.see(owner, entries);
    await lists.drop(owner, ended, graceMs);
    before = next;
  } while (before !== undefined);
}
