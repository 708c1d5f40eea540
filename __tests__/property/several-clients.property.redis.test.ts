import fc from "fast-check";
import { Cluster, Redis } from "ioredis";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { decodeSessionId } from "../../src/store/contract/session-ref.js";
import { ownerKey, sessionKeys } from "../../src/store/redis/keys.js";
import { type FakedClockRedis, startFakedClockRedis } from "../../tools/testkit/clocks/faked-clock.js";
import { type PrivateCluster, startCluster } from "../../tools/testkit/servers/redis-cluster.js";
import {
  type ClientCommand,
  clientCommand,
  type Clients,
  guardMs,
  observed,
  outcomeOf,
} from "../support/client-commands.js";
import { uniquePrefix } from "../support/shared-redis.js";

/** Runs on one server, and a tenth of them on a cluster; `SEVERAL_CLIENTS_RUNS=10000` is the promise. */
const numRuns = Number(process.env["SEVERAL_CLIENTS_RUNS"] ?? 30);

const seed = process.env["SEVERAL_CLIENTS_SEED"];

type Commands = readonly { readonly command: ClientCommand; readonly instance: number }[];

const commandsOf = (timePasses: boolean): fc.Arbitrary<Commands> =>
  fc.array(fc.record({ command: clientCommand(timePasses), instance: fc.nat(2) }), {
    minLength: 1,
    maxLength: 30,
    size: "max",
  });

describe("several clients", () => {
  const realNow = Date.now;
  const open: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    Date.now = realNow;
    await Promise.all(open.splice(0).map((server) => server.stop()));
  });

  it("of one server see what the in-memory model says of sessions, owners, lists, forks, turns and time", async () => {
    const server: FakedClockRedis = await startFakedClockRedis();
    const client = new Redis(server.url);
    open.push(server, { stop: async () => client.disconnect() });
    // All clocks stand still but where a command lets time pass: a slow machine changes nothing.
    let seconds = Math.floor(realNow() / 1_000);
    Date.now = () => seconds * 1_000;
    const pass = (milliseconds: number) => {
      seconds += milliseconds / 1_000;
      server.stopClock(seconds);
    };
    pass(0);
    const property = fc.asyncProperty(commandsOf(true), async (list) => {
      await client.flushall();
      await expectAgreement(client, list, pass);
    });
    await fc.assert(property, { numRuns, ...(seed !== undefined && { seed: Number(seed) }) });
  }, 7_200_000);

  it("of a cluster see the same while no time passes", async () => {
    const cluster: PrivateCluster = await startCluster(3);
    const client = new Cluster([...cluster.nodes]);
    open.push(cluster, { stop: async () => client.disconnect() });
    const property = fc.asyncProperty(commandsOf(false), async (list) => {
      await Promise.all(client.nodes("master").map((node) => node.flushall()));
      await expectAgreement(client, list, undefined);
    });
    await fc.assert(property, { numRuns: Math.ceil(numRuns / 10), ...(seed !== undefined && { seed: Number(seed) }) });
  }, 7_200_000);
});

/** Runs the commands on three stores and on the model. `pass` is undefined where the clock is the machine's. */
async function expectAgreement(
  client: Redis | Cluster,
  list: Commands,
  pass: Clients["pass"] | undefined,
): Promise<void> {
  const keyPrefix = uniquePrefix();
  const stores = [0, 1, 2].map(() => new RedisSessionStore({ client, keyPrefix }));
  const inMemory = new InMemorySessionStore();
  const clocksStand = pass !== undefined;
  const erases = guardingAlike({ client, keyPrefix, inMemory });
  const real = { ...newClients(stores, { clocksStand, pass: pass ?? (() => undefined) }), erases };
  const model = newClients([inMemory, inMemory, inMemory], { clocksStand, pass: () => undefined });
  try {
    for (const { command, instance } of list) {
      const expected = await outcomeOf(model, instance, command);
      expect(await outcomeOf(real, instance, command)).toEqual(expected);
      expect(await observed(real, instance)).toEqual(await observed(model, instance));
    }
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}

interface Guarding {
  readonly client: Redis | Cluster;
  readonly keyPrefix: string;
  readonly inMemory: InMemorySessionStore;
}

/**
 * An owner's list in Redis names a session in front of its first write and for a while behind its end. An erasure
 * guards what the list names, as a write may be under way. No write is under way in the model, so that it is told.
 */
function guardingAlike({ client, keyPrefix, inMemory }: Guarding): NonNullable<Clients["erases"]> {
  return async (owner) => {
    const named = (await client.zrange(ownerKey(keyPrefix, owner), "0", "-1")).map((one) => decodeSessionId(one)!);
    const found = await Promise.all(named.map((id) => inMemory.lists.describe({ id })));
    const ended = named.filter((_, index) => found[index] === undefined);
    return async () => {
      for (const id of ended) {
        if ((await client.hexists(sessionKeys(keyPrefix, id).state, "erased")) === 1) {
          await inMemory.lists.erase({ id }, { guardMs });
        }
      }
    };
  };
}

function newClients(stores: Clients["stores"], clocks: Pick<Clients, "pass" | "clocksStand">): Clients {
  const maps = { views: new Map(), labels: new Map(), tokens: new Map() };
  return { stores, ...maps, fences: [], ...clocks };
}
