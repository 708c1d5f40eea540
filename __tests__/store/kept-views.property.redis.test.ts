import fc from "fast-check";
import { Redis } from "ioredis";
import type { SessionView } from "../../src/store/contract/session-reads.js";
import type { NewRecord } from "../../src/store/contract/session-writes.js";
import { KeptViews } from "../../src/store/redis-store/views.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { replacing } from "../../testing/session-store/replaced-session.js";
import { human, record, records, texts } from "../../testing/session-store/store-case.js";
import { SlowProcesses } from "../../tools/testkit/proxies/slow-network.js";
import { forAllAsync } from "../support/property-runs.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { outcome, session, storeCommand, type StoreCommand, type StoreUnderTest } from "../support/store-commands.js";

/** Takes a copy of a session as it lies in Redis, and returns a function that brings it back, as a failover does. */
async function copyOf(client: Redis, keyPrefix: string): Promise<() => Promise<void>> {
  const { log, ids, state } = sessionKeys(keyPrefix, session);
  const keys = [log, ids, state];
  const dumps = await Promise.all(keys.map((key) => client.dumpBuffer(key)));
  return async () => {
    const restore = client.multi().del(...keys);
    for (const [index, key] of keys.entries()) {
      const dump = dumps[index];
      if (dump !== null && dump !== undefined) {
        restore.restore(key, 0, dump);
      }
    }
    await restore.exec();
  };
}

/** A command of one of the processes, the session's way back to what it was before so many steps, or a read by all. */
type Step =
  { readonly command: StoreCommand; readonly instance: number } | { readonly back: number } | { readonly reads: true };

const instance = fc.nat(2);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 7, arbitrary: fc.record({ command: storeCommand, instance }) },
  { weight: 2, arbitrary: fc.record({ back: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.constant({ reads: true as const }) },
);

/** A failover to the log's first records, as many as `kept`, and what is appended then. */
const failover = fc.record({
  kept: fc.nat(3),
  ids: fc.shuffledSubarray(["p", "q", "r", "s"], { minLength: 1 }),
});

/** A store that keeps views, and what the scripts that it runs reply. */
function heardStore(keyPrefix: string) {
  const client = new Redis(sharedRedisUrl());
  const replies: unknown[] = [];
  const call = client.call.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const heard = async (...args: unknown[]) => {
    replies.push(await call(...args));
    return replies.at(-1);
  };
  const keeping = new RedisSessionStore({ client: Object.assign(client, { call: heard as never }), keyPrefix });
  return { keeping, replies, close: () => client.disconnect() };
}

const client = sharedClient();

describe("A view that is kept", () => {
  /** A store that keeps views, one that keeps none, and the writers, on sessions of their own. */
  function stores() {
    const keyPrefix = uniquePrefix();
    const fresh = new RedisSessionStore({ client, keyPrefix, viewCacheBytes: 0 });
    const writers = [0, 1, 2].map(() => new RedisSessionStore({ client, keyPrefix }));
    return { keyPrefix, fresh, writers, keeping: writers[0]! };
  }

  it("is the log's where records are sent again, byte for byte, after failovers to older logs", async () => {
    const failovers = fc.array(failover, { minLength: 2, maxLength: 5 });
    await forAllAsync(100, failovers, async (list) => {
      const { keyPrefix, fresh, keeping, writers } = stores();
      const logs = [await copyOf(client, keyPrefix)];
      for (const { kept, ids } of list) {
        logs.length = Math.min(kept + 1, logs.length);
        await logs.at(-1)!();
        for (const id of ids) {
          await writers[1]!.append({ id: session }, { records: [human(id)] });
          logs.push(await copyOf(client, keyPrefix));
        }
        expect(await keeping.readView({ id: session })).toEqual(await fresh.readView({ id: session }));
      }
    });
  });

  it("is the log's after any commands of three processes, and failovers to older logs", () =>
    forAllAsync(80, fc.array(step, { minLength: 4, maxLength: 40, size: "max" }), async (steps) => {
      const { keyPrefix, fresh, writers } = stores();
      const unders: StoreUnderTest[] = writers.map((store) => ({ store, views: [], tokens: new Map() }));
      const older: (() => Promise<void>)[] = [];
      const expectSame = async () => {
        const expected = await fresh.readView({ id: session });
        for (const writer of writers) {
          expect(await writer.readView({ id: session })).toEqual(expected);
        }
      };
      for (const each of steps) {
        if ("reads" in each) {
          await expectSame();
          continue;
        }
        older.push(await copyOf(client, keyPrefix));
        if ("back" in each) {
          await older[Math.max(0, older.length - 1 - each.back)]!();
        } else {
          await outcome(each.command, unders[each.instance]!);
        }
      }
      await expectSame();
    }));

  it("is the log's where a copy of as many records has taken the place of its session", async () => {
    const { fresh, keeping, writers } = stores();
    await keeping.append({ id: session }, { records: [human("one"), record("two")] });
    await keeping.readView({ id: session });
    const was = (await writers[1]!.copies.read({ id: session }))!;
    const copied = ["three", "four"].map((id) => record(id));
    expect(await writers[1]!.copies.replace({ id: session }, replacing(was, { records: copied }))).toBe("replaced");
    const view = await keeping.readView({ id: session });
    expect(view).toEqual(await fresh.readView({ id: session }));
    expect(view.records).toEqual(texts(copied));
  });

  it("is proven by a reply of one number, and asked for from its last record on, in one round trip", async () => {
    const { keyPrefix, writers } = stores();
    const { keeping, replies, close } = heardStore(keyPrefix);
    const write = (list: NewRecord[]) => writers[1]!.append({ id: session }, { records: list });
    await write(records("m", 20));
    await keeping.readView({ id: session });
    replies.splice(0);
    expect((await keeping.readView({ id: session })).records).toHaveLength(20);
    expect(replies.splice(0)).toEqual([1]);
    await write([human("q"), record("a")]);
    expect((await keeping.readView({ id: session })).records).toHaveLength(22);
    const [[, [, shown]], ...others] = replies as [[string, [unknown, string[]]]];
    expect([shown, others]).toEqual([texts([records("m", 20)[19]!, human("q"), record("a")]), []]);
    close();
  });
});

describe("Whatever the order in which commands of three processes and replies arrive, a view that is kept", () => {
  const processes = new SlowProcesses();

  it("is the log's in the end", async () => {
    const commands = fc.array(fc.record({ command: storeCommand, instance: fc.nat(2) }), {
      ...{ minLength: 3, maxLength: 16, size: "max" as const },
    });
    await forAllAsync({ runs: 60, endOnFailure: true }, fc.tuple(commands, fc.integer()), async ([list, seed]) => {
      const { client, clients, network } = processes;
      await client.flushall();
      const fresh = new RedisSessionStore({ client, viewCacheBytes: 0 });
      const unders: StoreUnderTest[] = clients.map((each) => ({
        store: new RedisSessionStore({ client: each, commandTimeout: 60_000 }),
        views: [],
        tokens: new Map(),
      }));
      await fresh.append({ id: session }, { records: records("m", 4) });
      const failOver = await copyOf(client, "lcmem");
      const busy = () =>
        network.during(seed, () =>
          Promise.all(
            list.flatMap(({ command, instance }) => [
              outcome(command, unders[instance]!),
              unders[instance]!.store.readView({ id: session }),
            ]),
          ),
        );
      for (const between of [busy, failOver, busy]) {
        await between();
        const expected = await fresh.readView({ id: session });
        for (const { store } of unders) {
          expect(await store.readView({ id: session })).toEqual(expected);
        }
      }
    });
  });
});

describe("A view that was read", () => {
  /** What is done next, and whether to wait for what is under way. */
  const call = fc.record({ does: fc.constantFrom("append", "append and return", "read"), waits: fc.boolean() });

  it("stays as it was, whatever this process appends behind it", () =>
    forAllAsync(100, fc.tuple(fc.array(call, { maxLength: 30 }), fc.nat(20)), async ([calls, at]) => {
      const keyPrefix = uniquePrefix();
      const store = new RedisSessionStore({ client, keyPrefix });
      const failOver = await copyOf(client, keyPrefix);
      const seen: { readonly view: SessionView; readonly then: SessionView }[] = [];
      const note = (view: SessionView | undefined) => void (view && seen.push({ view, then: structuredClone(view) }));
      const make = async ({ does }: { readonly does: string }, index: number) => {
        if (does === "read") {
          return note(await store.readView({ id: session }));
        }
        const viewLimit = does === "append" ? undefined : { messages: 0 };
        note((await store.append({ id: session }, { records: [human(`m${index}`)], viewLimit })).view);
      };
      let underWay: Promise<unknown>[] = [];
      for (const [index, each] of calls.entries()) {
        underWay.push(make(each, index));
        if (each.waits || index === at) {
          await Promise.all(underWay);
          underWay = [];
        }
        await (index === at ? failOver() : undefined);
      }
      await Promise.all(underWay);
      note(await store.readView({ id: session }));
      for (const { view, then } of seen) {
        expect(view).toEqual(then);
        expect(view.records).toHaveLength(view.next - view.start);
      }
      const fresh = new RedisSessionStore({ client, keyPrefix, viewCacheBytes: 0 });
      expect(seen.at(-1)!.view).toEqual(await fresh.readView({ id: session }));
    }));

  it("beside an own append takes one round trip", async () => {
    const own = new Redis(sharedRedisUrl());
    const [call, multi] = [jest.spyOn(own, "call"), jest.spyOn(own, "multi")];
    const store = new RedisSessionStore({ client: own, keyPrefix: uniquePrefix() });
    const append = (id: string) => store.append({ id: session }, { records: [human(id)] });
    await append("one");
    await append("two");
    const [, view] = await Promise.all([append("three"), store.readView({ id: session })]);
    own.disconnect();
    expect(view.records).toEqual(texts(["one", "two", "three"].map(human)));
    expect([call, multi].map((sent) => sent.mock.calls.length)).toEqual([4, 0]);
  });
});

describe("A head", () => {
  /** How much of the head stays at its beginning, what is added, by which process, and what others made of it. */
  const byHand = fc.constantFrom(undefined, undefined, "nothing", "other text", "other bytes");
  const [stays, added] = [fc.double({ min: 0, max: 1, noNaN: true }), fc.string({ unit: "grapheme", maxLength: 20 })];
  const changes = fc.array(fc.record({ stays, added, by: fc.nat(1), byHand }), { maxLength: 8 });

  it("is the committed one, of which is sent what was not there before", async () => {
    const call = jest.spyOn(client, "call");
    await forAllAsync(60, changes, async (list) => {
      const keyPrefix = uniquePrefix();
      const stores = [0, 1].map(() => new RedisSessionStore({ client, keyPrefix }));
      await stores[0]!.append({ id: session }, { records: records("m", 2) });
      const { state } = sessionKeys(keyPrefix, session);
      for (const { by, byHand, ...change } of list) {
        const { head: before, ...read } = await stores[by]!.readView({ id: session });
        const head = before.slice(0, Math.round(change.stays * before.length)).toWellFormed() + change.added;
        const commit = () => stores[by]!.commitReduction({ id: session }, { ...read, head, headCount: 1 });
        const other = byHand === "other bytes" ? Buffer.from(`é${before}`).subarray(1) : `(${before.slice(1)}`;
        await (byHand === "nothing" ? client.hdel(state, "head") : byHand && client.hset(state, "head", other));
        const first = await commit();
        const sent = Buffer.from((call.mock.lastCall as unknown as [string, Buffer[]])[1].at(-1)!);
        const [all, earlier] = [Buffer.from(head), Buffer.from(before)];
        expect(sent.equals(all.subarray(all.findIndex((byte, at) => byte !== earlier[at]) >>> 0))).toBe(true);
        expect(first === "stale" ? await commit() : first).toBe("committed");
        expect(first === "stale").toBe(byHand !== undefined && sent.length < Buffer.byteLength(head));
        expect((await stores[1 - by]!.readView({ id: session })).head).toBe(head);
      }
    });
  });
});

describe("The memory for views", () => {
  const sum = 7;
  const view = (length: number) => ({
    ...{ epoch: "epoch", rev: "rev", base: 0, start: 0, next: 2, head: "", headCount: 0, tokens: undefined },
    ...{ counter: "", records: ["x".repeat(length), "y".repeat(length)], damaged: false },
  });

  it("is bounded, and holds those that changed last", () => {
    const views = new KeptViews(10_000);
    views.keep("a", { sum, view: view(400) });
    views.keep("b", { sum, view: view(400) });
    expect(views.bytes).toBe(2 * (2 * 400 * 4 + 800));
    views.keep("a", { sum, view: view(400) });
    views.keep("c", { sum, view: view(400) });
    expect(["a", "b", "c"].map((id) => views.get(id) !== undefined)).toEqual([true, false, true]);
    views.keep("d", { sum, view: view(4_000) });
    expect(["a", "b", "c", "d"].map((id) => views.get(id) !== undefined)).toEqual([true, false, true, false]);
    expect(views.bytes).toBe(2 * (2 * 400 * 4 + 800));
    const keptView = views.get("a");
    const added = { id: "z", digest: "AAAAAAAA", record: "z".repeat(2_000) };
    const plan = { records: [added] };
    views.extend("a", "epoch", { plan, at: 2, texts: [added.record], sum: 1, epoch: "other", keptView });
    expect(["a", "c"].map((id) => views.get(id) !== undefined)).toEqual([false, true]);
  });

  it("of 0 bytes holds nothing", () => {
    const views = new KeptViews(0);
    views.keep("a", { sum, view: view(1) });
    expect(views.get("a")).toBeUndefined();
  });
});
