import { MemoryError } from "../base/errors.js";
import type { ListsReindex } from "../store/lists.js";
import type { DescribedSession } from "./entries.js";
import type { OwnerLists } from "./owner-lists.js";
import { scanKeys, type KeyScan } from "../redis/scan-keys.js";
import type { SessionDescriber } from "./session-describer.js";

const pageLength = 100;

/** Context of a reindexing. */
export interface Reindexing extends ListsReindex {
  readonly scan: KeyScan;
  readonly owners: OwnerLists;
  readonly describer: SessionDescriber;
  readonly graceMs: number;
}

/** Lists every session under its owner, and removes stale entries. Returns the number of sessions with an owner. */
export async function reindexSessions(reindexing: Reindexing): Promise<number> {
  const { scan, owners, describer, graceMs, onProgress } = reindexing;
  const seen = new Set<string>();
  const indexed = new Set<string>();
  for await (const page of scanKeys(scan)) {
    const fresh = page.sessions.filter(({ sessionId, owner }) => owner !== undefined && !seen.has(sessionId));
    fresh.forEach(({ sessionId }) => seen.add(sessionId));
    page.owners.forEach((owner) => indexed.add(owner));
    for (let first = 0; first < fresh.length; first += pageLength) {
      const part = fresh.slice(first, first + pageLength);
      const described = await Promise.all(part.map(({ sessionId }) => describeUnlessRefused(sessionId, reindexing)));
      await putByOwner(owners, described);
      onProgress?.({ sessions: seen.size });
    }
  }
  for (const owner of indexed) {
    await dropStrangers({ owners, describer, owner, graceMs });
  }
  return seen.size;
}

/** Undefined for a session that cannot be read, which is reported. */
async function describeUnlessRefused(
  sessionId: string,
  { describer, onProblem }: Reindexing,
): Promise<DescribedSession | undefined> {
  try {
    return await describer.describe(sessionId);
  } catch (error) {
    if (onProblem === undefined || !MemoryError.isInstance(error) || error.retryable) {
      throw error;
    }
    onProblem({ sessionId, error });
    return undefined;
  }
}

async function putByOwner(owners: OwnerLists, all: readonly (DescribedSession | undefined)[]): Promise<void> {
  const byOwner = new Map<string, DescribedSession[]>();
  for (const described of all) {
    const owner = described?.details.owner;
    if (owner !== undefined) {
      byOwner.set(owner, byOwner.get(owner) ?? []);
      byOwner.get(owner)!.push(described!);
    }
  }
  // Skips owners whose erasure is under way or recent: the touches of writers follow.
  await Promise.all([...byOwner].map(([owner, sessions]) => owners.put(owner, sessions, { mode: "keep" })));
}

async function dropStrangers({
  owners,
  describer,
  owner,
  graceMs,
}: Pick<Reindexing, "owners" | "describer" | "graceMs"> & { readonly owner: string }): Promise<void> {
  let before: number | undefined;
  do {
    const { entries, next } = await owners.list(owner, before, pageLength);
    const found = await Promise.all(entries.map(({ sessionId }) => describer.describeOf(owner, sessionId)));
    await owners.drop(
      owner,
      entries.filter((_, index) => found[index] === undefined),
      graceMs,
    );
    before = next;
  } while (before !== undefined);
}
