import { openStores } from "./client/open-stores.js";
import type { OwnerList } from "./checking/check-lists.js";
import type { Topology } from "../testkit/topologies/topology.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";

/** A page is short, so that a walk has many. */
const limit = 7;

/** Makes the lists agree with the sessions, and walks through those of all owners. */
export async function readLists(topology: Topology, owners: readonly string[]): Promise<OwnerList[]> {
  const stores = openStores(topology.direct, true);
  try {
    return await readListsOf(stores.plain, owners);
  } finally {
    await stores.close();
  }
}

/** The same by a store. */
export async function readListsOf(store: SessionStore, owners: readonly string[]): Promise<OwnerList[]> {
  const { sessions } = new RedisChatMemory({ store });
  await sessions.reindex();
  return Promise.all(
    owners.map(async (owner) => {
      const listed: string[] = [];
      let cursor: string | null | undefined;
      do {
        const page = await sessions.list({ owner, limit, cursor });
        listed.push(...page.sessions.map(({ sessionId }) => sessionId));
        cursor = page.next;
      } while (cursor !== null);
      return { owner, sessions: listed };
    }),
  );
}
