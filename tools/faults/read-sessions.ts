import { readLog } from "../../src/store/contract/session-data.js";
import type { Redis } from "ioredis";
import { encryption } from "./client/doors.js";
import { openStores } from "./client/open-stores.js";
import { issuesOf, tokensOf } from "./client/lane.js";
import type { FinalSession } from "./checking/session-case.js";
import { coverageIn } from "./journal/coverage.js";
import { tokensIn } from "./journal/runs.js";
import type { Topology } from "../testkit/topologies/topology.js";
import { decodeView } from "../../src/memory/session/view.js";
import { summaryMarkOf } from "../../src/conversation/messages/message.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { openStore } from "../../src/memory/session/open-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";

const atOnce = 20;

/** The servers on which sessions are read, and the way to what else is known of them. */
export interface SessionPlace {
  readonly store: SessionStore;
  /** The slot in a cluster; undefined where all sessions share what happens to the server. */
  slotOf(id: string): Promise<number | undefined>;
  /** The number of keys that a session has. */
  countKeys(id: string): Promise<number>;
  /** When each of the keys that there are expires, in milliseconds; -1 for never. */
  expiriesOf(id: string): Promise<readonly number[]>;
}

/** Which sessions are read; of those that were erased, the keys are counted too. */
export interface WantedSessions {
  readonly ids: readonly string[];
  readonly erased: ReadonlySet<string>;
}

/** Reads every session as it is now, past the proxies. */
export async function readSessions(topology: Topology, wanted: WantedSessions): Promise<FinalSession[]> {
  const stores = openStores(topology.direct, true);
  const slotOf = async (id: string) => (topology.name === "cluster" ? slotIn(topology, id) : undefined);
  try {
    const countKeys = (id: string) => countKeysOf(topology, id);
    const expiriesOf = (id: string) => expiriesIn(topology, id);
    return await readSessionsOf({ store: stores.plain, slotOf, countKeys, expiriesOf }, wanted);
  } finally {
    await stores.close();
  }
}

/** Reads every session by a store. */
export async function readSessionsOf(place: SessionPlace, { ids, erased }: WantedSessions): Promise<FinalSession[]> {
  const { store } = openStore("the checker", { store: place.store, encryption });
  const sessions: FinalSession[] = [];
  for (let first = 0; first < ids.length; first += atOnce) {
    const page = ids.slice(first, first + atOnce);
    const read = async (id: string) => ({
      ...(await readSession({ ...place, store }, id)),
      expiries: await place.expiriesOf(id),
      ...(erased.has(id) && { keys: await place.countKeys(id) }),
    });
    sessions.push(...(await Promise.all(page.map(read))));
  }
  return sessions;
}

async function readSession({ store, slotOf }: SessionPlace, id: string): Promise<FinalSession> {
  const view = await store.readView({ id });
  const { entries } = decodeView(view, { sessionId: id, strict: false, onEvent: undefined });
  const { records, damaged } = await readLog(store, { id });
  const messages = entries.map(({ message }) => message);
  const head = entries.filter(({ position }) => position === undefined).map(({ message }) => message);
  const slot = await slotOf(id);
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

async function slotIn(topology: Topology, id: string): Promise<number> {
  const { log } = sessionKeys("lcmem", id);
  return Number(await topology.nodes[0]!.use((client) => client.call("CLUSTER", "KEYSLOT", log)));
}

/** The keys of a session on all masters. */
async function countKeysOf(topology: Topology, id: string): Promise<number> {
  const counts = await onMasters(topology, (client) => client.exists(...keysOf(id)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Milliseconds by which a move of a slot may shift an expiry: Redis sends the time that is left, not its end. */
const mostShift = 1_000;

async function expiriesIn(topology: Topology, id: string): Promise<number[]> {
  const times = await onMasters(topology, (client) =>
    Promise.all(keysOf(id).map(async (key) => Number(await client.call("PEXPIRETIME", key)))),
  );
  const found = times.flat().filter((time) => time >= -1);
  const [least, most] = [Math.min(...found), Math.max(...found)];
  return topology.name === "cluster" && least >= 0 && most - least < mostShift ? found.map(() => least) : found;
}

/** The answers of the masters that hold the keys. */
async function onMasters<T>(topology: Topology, ask: (client: Redis) => Promise<T>): Promise<T[]> {
  const masters = await topology.masters();
  const answers = masters.map((node) => node.use(async (client) => [await ask(client)]).catch(() => []));
  return (await Promise.all(answers)).flat();
}

function keysOf(id: string): string[] {
  const { log, ids, state } = sessionKeys("lcmem", id);
  return [log, ids, state];
}
