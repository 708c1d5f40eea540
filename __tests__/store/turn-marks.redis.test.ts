import { readLog } from "../../src/store/contract/copies.js";
import fc from "fast-check";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { idHash, sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { storedTurn, asRead, forkOf } from "../../testing/session-store/store-case.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import type { NewRecord, LessenedTurn } from "../../src/store/contract/session-writes.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { identify } from "../support/store-commands.js";

const session = "s";
const nameOf = (turn: number) => `${idHash(String(turn)).slice(0, 10)}${String(turn).padStart(4, "0")}`;

function recordOf(turn: number, part: number): NewRecord {
  const record = `{"type":"ai","data":{"id":"m${turn}-${part}"},"turn":"${nameOf(turn)}"}`;
  return { ...identify(record), record };
}

/** Appends records to a turn that may have some already. */
async function appendTurn(store: SessionStore, turn: number, { count, done }: { count: number; done: boolean }) {
  const stored = (await storedTurn(store, { id: session }, nameOf(turn)))?.count ?? 0;
  const records = Array.from({ length: count }, (_, index) => recordOf(turn, stored + index));
  return store.append({ id: session }, { records, turn: { name: nameOf(turn), stored, done } });
}

/** Position and turn of each record. */
async function positions(store: SessionStore) {
  const { records, from } = await readLog(store, { id: session });
  return records.map((record, index) => ({ name: identify(record).turn!.name, position: from + index }));
}

async function rewind(store: SessionStore, share: number) {
  const view = await store.readView({ id: session });
  const to = view.base + Math.floor((view.next - view.base) * share);
  const all = await positions(store);
  const names = all.filter(({ position }) => position >= to).map(({ name }) => name);
  const turns = [...new Set(names)].map((name): LessenedTurn => ({
    name,
    removed: names.filter((other) => other === name).length,
  }));
  const { records } = await readLog(store, { id: session }, { from: to });
  const forget = records.map((record) => identify(record).id);
  return store.edits.rewind({ id: session }, { ...asRead(view), to, forget, turns });
}

async function discard(store: SessionStore, share: number) {
  const view = await store.readView({ id: session });
  const start = view.base + Math.floor((view.next - view.base) * share);
  return store.commitReduction({ id: session }, { ...asRead(view), start, head: "h", headCount: 1, discard: true });
}

type Command = (store: SessionStore) => Promise<unknown>;

const turns = 400;
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ turn: fc.nat(turns - 1), count: fc.nat(3), done: fc.boolean() }).map(
      ({ turn, ...rest }): Command =>
        (store) =>
          appendTurn(store, turn, rest),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({ first: fc.nat(turns - 60), count: fc.integer({ min: 5, max: 60 }) })
      .map(({ first, count }): Command => async (store) => {
        for (let turn = first; turn < first + count; turn += 1) {
          await appendTurn(store, turn, { count: 1, done: turn % 5 > 0 });
        }
      }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(0, 0.2, 0.6, 0.9, 1).map(
      (share): Command =>
        (store) =>
          rewind(store, share),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0.3, 0.8, 1).map(
      (share): Command =>
        (store) =>
          discard(store, share),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Command>((store) => store.edits.rebuild({ id: session }, identify)) },
);

describe("The marks of turns in Redis", () => {
  const client = sharedClient();

  const marks = async (store: SessionStore) => {
    const names = Array.from({ length: turns }, (_, turn) => nameOf(turn));
    const { turns: found } = await store.copies.readMarks({ id: session }, { turns: names });
    const seen = await Promise.all([0, 7, 90].map((turn) => store.readView({ id: session }, { turn: nameOf(turn) })));
    return [
      found,
      seen.map(({ turn }) => turn),
      await Promise.all([1, 8, 91].map((n) => storedTurn(store, { id: session }, nameOf(n)))),
    ];
  };

  it("are those of the in-memory model, for few turns and for many", async () => {
    const property = fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 25, size: "max" }), async (list) => {
      const keyPrefix = uniquePrefix();
      const stores = [new InMemorySessionStore(), new RedisSessionStore({ client, keyPrefix })] as const;
      for (const each of list) {
        const [model, real] = [await each(stores[0]), await each(stores[1])] as [unknown, unknown];
        expect(typeof real).toBe(typeof model);
        expect(await marks(stores[1])).toEqual(await marks(stores[0]));
        expect(await readLog(stores[1], { id: session })).toEqual(await readLog(stores[0], { id: session }));
      }
      const copyRecord = (record: string) => ({ record, identity: identify(record) });
      const [copied, original] = await Promise.all(
        stores.map(async (store) => {
          await forkOf(store, { id: session }, { id: "copy" }, { copyRecord });
          return Promise.all([1, 8, 91, 200].map((turn) => storedTurn(store, { id: "copy" }, nameOf(turn))));
        }),
      );
      expect(original).toEqual(copied);
    });
    await fc.assert(property, { numRuns: propertyRuns(6) });
  });

  it("stay open in a copy where the turn was discarded and then went on", async () => {
    for (const store of [new InMemorySessionStore(), new RedisSessionStore({ client, keyPrefix: uniquePrefix() })]) {
      await appendTurn(store, 1, { count: 1, done: false });
      await discard(store, 1);
      await appendTurn(store, 1, { count: 1, done: false });
      const [discarded] = (await store.copies.readMarks({ id: session }, { turns: [nameOf(1)] })).turns;
      expect(discarded).toEqual({ done: false, count: 2, first: 0 });
      const copyRecord = (record: string) => ({ record, identity: identify(record) });
      await forkOf(store, { id: session }, { id: "copy" }, { copyRecord });
      expect(await storedTurn(store, { id: "copy" }, nameOf(1))).toMatchObject({ done: false, count: 1, first: 1 });
    }
  });

  it("have a field of their own each, however many there are", async () => {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({ client, keyPrefix });
    for (let turn = 0; turn < 100; turn += 1) {
      await appendTurn(store, turn, { count: 1, done: true });
    }
    const { ids } = sessionKeys(keyPrefix, session);
    const fields = await client.hgetall(ids);
    expect(fields[nameOf(70)]).toBe("T000000170");
    expect(Object.keys(fields).every((name) => name.length === 14)).toBe(true);
    expect(Object.keys(fields)).toHaveLength(201);
  });

  it("are less by what a replaced tail takes from them", async () => {
    for (const count of [1, 40]) {
      for (const store of [new InMemorySessionStore(), new RedisSessionStore({ client, keyPrefix: uniquePrefix() })]) {
        const others = Array.from({ length: count }, (_, index) => 100 + index);
        for (const turn of others) {
          await appendTurn(store, turn, { count: 1, done: false });
        }
        await appendTurn(store, 1, { count: 3, done: true });
        await appendTurn(store, 2, { count: 2, done: true });
        // Each mark is written behind those of before.
        for (const turn of others) {
          await appendTurn(store, turn, { count: 0, done: true });
        }
        const turns = [1, 2, 2, 1].map((removed, index) => ({ name: nameOf(index + 1), removed }));
        const forget = [recordOf(1, 2), recordOf(2, 0), recordOf(2, 1)].map(({ id }) => id);
        const cut = { ...asRead(await store.readView({ id: session })), to: count + 2, forget, turns };
        await store.edits.replaceTail({ id: session }, { cut, records: [recordOf(5, 0)] });
        const names = [1, 2, 3, 4, ...others].map(nameOf);
        expect((await store.copies.readMarks({ id: session }, { turns: names })).turns).toEqual([
          { done: false, count: 2, first: count },
          ...[undefined, undefined, undefined],
          ...others.map((_, first) => ({ done: true, count: 1, first })),
        ]);
      }
    }
  });

  it("are gone behind the place of a rewind that could not read what it removes", async () => {
    for (const count of [20, 100]) {
      const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
      for (let turn = 0; turn < count; turn += 1) {
        await appendTurn(store, turn, { count: 1, done: turn % 2 === 0 });
      }
      const to = count / 2;
      const names = Array.from({ length: count }, (_, turn) => nameOf(turn));
      const view = await store.readView({ id: session });
      await store.edits.rewind({ id: session }, { ...asRead(view), to, forget: [] });
      const { turns: found } = await store.copies.readMarks({ id: session }, { turns: names });
      const left = Array.from({ length: to }, (_, turn) => ({ done: turn % 2 === 0, count: 1, first: turn }));
      expect(found).toEqual([...left, ...Array.from({ length: to }, () => undefined)]);
      await appendTurn(store, count - 1, { count: 1, done: true });
      expect(await storedTurn(store, { id: session }, nameOf(count - 1))).toMatchObject({ done: true, first: to });
    }
  });
});
