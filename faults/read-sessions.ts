import { encryption } from "./client/doors.js";
import { openStores } from "./client/open-stores.js";
import { issuesOf, tokensOf } from "./client/lane.js";
import type { FinalSession } from "./checking/session-case.js";
import { coverageIn } from "./journal/coverage.js";
import { tokensIn } from "./journal/runs.js";
import type { Topology } from "../testkit/topologies/topology.js";
import { decodeView } from "../src/session/view.js";
import { summaryMarkOf } from "../src/messages/roles.js";
import { sessionKeys } from "../src/redis/keys.js";
import { openStore } from "../src/session/open-store.js";
import type { SessionStore } from "../src/store/session-store.js";

const atOnce = 20;

/** Reads every session as it is now, past the proxies; of those that were erased, it counts the keys too. */
export async function readSessions(
  topology: Topology,
  { ids, erased }: { readonly ids: readonly string[]; readonly erased: ReadonlySet<string> },
): Promise<FinalSession[]> {
  const stores = openStores(topology.direct, true);
  const { store } = openStore("the checker", { store: stores.plain, encryption });
  try {
    const sessions: FinalSession[] = [];
    for (let first = 0; first < ids.length; first += atOnce) {
      const page = ids.slice(first, first + atOnce);
      const read = async (id: string) => ({
        ...(await readSession(store, topology, id)),
        ...(erased.has(id) && { keys: await countKeys(topology, id) }),
      });
      sessions.push(...(await Promise.all(page.map(read))));
    }
    return sessions;
  } finally {
    await stores.close();
  }
}

async function readSession(store: SessionStore, topology: Topology, id: string): Promise<FinalSession> {
  const view = await store.readView({ id });
  const { entries } = decodeView(view, { sessionId: id, strict: false, onEvent: undefined });
  const { records, damaged } = await store.readLog({ id });
  const messages = entries.map(({ message }) => message);
  const head = entries.filter(({ position }) => position === undefined).map(({ message }) => message);
  const slot = topology.name === "cluster" ? await slotOf(topology, id) : undefined;
  return {
    id,
    ...(slot !== undefined && { slot }),
    discarded: view.base,
    log: records.map((record) => tokensIn(record)[0]),
    view: {
      start: view.start - view.base,
      head: tokensOf(head),
      covered: head.filter((message) => summaryMarkOf(message) !== undefined).map(({ text }) => coverageIn(text)),
      tokens: tokensOf(messages),
      issues: issuesOf(messages),
    },
    damaged: damaged || view.damaged,
  };
}

async function slotOf(topology: Topology, id: string): Promise<number> {
  const { log } = sessionKeys("lcmem", id);
  return Number(await topology.nodes[0]!.use((client) => client.call("CLUSTER", "KEYSLOT", log)));
}

/** The keys of a session on all masters. */
async function countKeys(topology: Topology, id: string): Promise<number> {
  const { log, ids, state } = sessionKeys("lcmem", id);
  const masters = await topology.masters();
  const counts = await Promise.all(
    masters.map((node) => node.use((client) => client.exists(log, ids, state)).catch(() => 0)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
