import fc from "fast-check";
import type { Redis } from "ioredis";
import { ConflictError, StoreError } from "../../src/base/errors.js";
import { readLog } from "../../src/store/contract/session-data.js";
import { type SessionDetails, type SessionSummary, summaryOf } from "../../src/store/contract/session-ref.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { human, record } from "../../testing/session-store/store-case.js";
import { SlowProcesses } from "../../tools/testkit/proxies/slow-network.js";
import { type ClientCommand, clientCommand, type Clients, owners, sessions } from "../support/client-commands.js";
import { forAllAsync } from "../support/property-runs.js";
import { identify } from "../support/store-commands.js";

const commands = fc.array(fc.record({ command: clientCommand(false), instance: fc.nat(2) }), {
  minLength: 2,
  maxLength: 12,
  size: "max",
});

/** What came of a command: its name and options, and an error's code. */
interface Outcome {
  readonly command: string;
  readonly code: string | undefined;
}

describe("whatever the order in which commands of three processes and their replies arrive", () => {
  const processes = new SlowProcesses();

  it("no list, log or erasure is wrong in the end", () =>
    forAllAsync({ runs: 100, endOnFailure: true }, fc.tuple(commands, fc.integer()), async ([list, seed]) => {
      const { client, clients, network } = processes;
      await client.flushall();
      const plain = new RedisSessionStore({ client });
      for (const [index, owner] of [...owners, owners[0]].entries()) {
        const records = [human(`old-${owner}-${index}-1`), record(`old-${owner}-${index}-2`)];
        await plain.append({ id: sessions[index]!, owner: owner! }, { records });
      }
      await plain.lists.flush();
      const stores = clients.map((each) => new RedisSessionStore({ client: each, commandTimeout: 60_000 }));
      const outcomes = await network.during(seed, () => runAll(stores, list));
      for (const store of stores) {
        await store.lists.flush();
      }
      await expectNothingWrong(plain, client, outcomes);
      await Promise.all([...stores, plain].map((store) => store.close()));
    }));
});

async function runAll(
  stores: readonly RedisSessionStore[],
  list: readonly { readonly command: ClientCommand; readonly instance: number }[],
): Promise<Outcome[]> {
  const maps = { views: new Map(), labels: new Map(), tokens: new Map() };
  const all: Clients = { stores, ...maps, fences: [], clocksStand: false, pass: () => undefined };
  return Promise.all(
    list.map(async ({ command, instance }) => {
      const name = (command as unknown as Record<symbol, () => string>)[fc.toStringMethod]!();
      try {
        await command(all, stores[instance]!);
        return { command: name, code: undefined };
      } catch (error) {
        // Others were faster.
        const isRefusal = ConflictError.isInstance(error) || (StoreError.isInstance(error) && error.code === "erased");
        if (!isRefusal) {
          throw error;
        }
        return { command: name, code: error.code };
      }
    }),
  );
}

/** A session as it is in the end: its owner, and the ids of its records. */
interface Found {
  readonly owner: string | undefined;
  readonly ids: readonly string[];
}

async function expectNothingWrong(
  store: RedisSessionStore,
  client: Redis,
  outcomes: readonly Outcome[],
): Promise<void> {
  const found: Found[] = [];
  const described: SessionDetails[] = [];
  for await (const id of store.lists.scan()) {
    found.push(await expectWholeLog(store, id));
    described.push((await store.lists.describe({ id }))!);
  }
  const staged = await client.keys("*:staged:*:progress");
  const copied = await Promise.all(staged.map((key) => client.hget(key, "owner")));
  for (const owner of owners) {
    const own = described.filter((each) => each.owner === owner).map((each) => summaryOf(each));
    expect(byId((await store.lists.list(owner, { limit: 10 })).sessions)).toEqual(byId(own));
    if (outcomes.some(({ command, code }) => command === `eraseOwners "${owner}"` && code === undefined)) {
      // What another owner was given a copy of before is that owner's.
      const left = found.filter((each) => each.owner === owner || each.owner === undefined);
      expect(left.filter(({ ids }) => ids.some((id) => id.startsWith(`old-${owner}-`)))).toEqual([]);
      expect(copied).not.toContain(owner);
    }
  }
}

async function expectWholeLog(store: RedisSessionStore, id: string): Promise<Found> {
  const { records } = await readLog(store, { id });
  const ids = records.map((each) => identify(each).id);
  const { damaged, next, base } = await store.readView({ id });
  expect({ damaged, length: next - base, ids }).toEqual({ damaged: false, length: ids.length, ids: [...new Set(ids)] });
  return { owner: (await store.lists.describe({ id }))?.owner, ids };
}

/** Summaries by session; times of expiry are computed anew at each look. */
function byId(all: readonly SessionSummary[]): ReadonlyMap<string, unknown> {
  return new Map(all.map(({ expiresAt, ...each }) => [each.sessionId, { ...each, expires: expiresAt !== undefined }]));
}
