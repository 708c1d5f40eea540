import type { ListPlace, SessionSummary } from "../../src/store/contract/session-ref.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";

/** All sessions of an owner's list, in pages. */
export async function listOf(store: SessionStore, owner: string, limit: number): Promise<SessionSummary[]> {
  const all: SessionSummary[] = [];
  let before: ListPlace | undefined;
  do {
    const { sessions, next } = await store.lists.list(owner, { limit, ...(before && { before }) });
    all.push(...sessions);
    before = next;
  } while (before !== undefined);
  return all;
}

/** Sessions by id: a refused or repeated write may move one in Redis, and in memory it does not. */
export function byId<T extends Pick<SessionSummary, "sessionId">>(sessions: readonly T[]): T[] {
  return [...sessions].sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1));
}
