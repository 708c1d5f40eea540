import fc from "fast-check";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { idHash, sessionKeys } from "../../src/redis/keys.js";
import { RedisSessionStore } from "../../src/redis-store/redis-session-store.js";
import { asRead, forkOf } from "../../testing/session-store/store-case.js";
import type { SessionStore } from "../../src/store/session-store.js";
import type { NewRecord } from "../../src/store/session-writes.js";
import type { TurnRemainder } from "../../src/store/turns.js";
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
  const stored = (await store.beside.readTurn({ id: session }, nameOf(turn)))?.count ?? 0;
  const records = Array.from({ length: count }, (_, index) => recordOf(turn, stored + index));
  return store.append({ id: session }, { records, turn: { name: nameOf(turn), stored, done } });
}

/** Position and turn of each record. */
async function positions(store: SessionStore) {
  const { records, from } = await store.readLog({ id: session });
  return records.map((record, index) => ({ name: identify(record).turn!.name, position: from + index }));
}

async function rewind(store: SessionStore, share: number) {
  const view = await store.readView({ id: session });
  const to = view.base + Math.floor((view.next - view.base) * share);
  const all = await positions(store);
  const left = (name: string) => all.filter((entry) => entry.name === name && entry.position < to);
  const names = [...new Set(all.filter(({ position }) => position >= to).map(({ name }) => name))];
  const turns = names.map((name): TurnRemainder => ({
    name,
    count: left(name).length,
    first: left(name)[0]?.position ?? to,
  }));
  const { records } = await store.readLog({ id: session }, { from: to });
  const forget = records.map((record) => identify(record).id);
  return store.edits.rewind({ id: session }, { ...asRead(view), to, forget, turns });
}

async function discard(store: SessionStore, share: number) {
  const view = await store.readView({ id: session });
  const start = view.base + Math.floor((view.next - view.base) * share);
  const all = await positions(store);
  const staying = new Set(all.filter(({ position }) => position >= start).map(({ name }) => name));
  const turns = [...new Set(all.map(({ name }) => name))].filter((name) => !staying.has(name));
  const forget = (await store.readLog({ id: session })).records.map((record) => identify(record).id);
  const request = { ...asRead(view), start, head: "h", headCount: 1, discard: { forget, turns } };
  return store.commitReduction({ id: session }, request);
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
  {
    weight: 1,
    arbitrary: fc.constant<Command>(async (store) => {
      const state = await store.copies.read({ id: session });
      return state?.discardedTurns;
    }),
  },
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
      await Promise.all([1, 8, 91].map((n) => store.beside.readTurn({ id: session }, nameOf(n)))),
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
        expect(await stores[1].readLog({ id: session })).toEqual(await stores[0].readLog({ id: session }));
      }
      const copyRecord = (record: string) => ({ record, identity: identify(record) });
      const [copied, original] = await Promise.all(
        stores.map(async (store) => {
          await forkOf(store, { id: session }, { id: "copy" }, { copyRecord });
          return Promise.all([1, 8, 91, 200].map((turn) => store.beside.readTurn({ id: "copy" }, nameOf(turn))));
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
      const [discarded] = (await store.copies.read({ id: session }))!.discardedTurns;
      expect(discarded).toEqual({ name: nameOf(1), done: false, count: 2, first: 0 });
      const copyRecord = (record: string) => ({ record, identity: identify(record) });
      await forkOf(store, { id: session }, { id: "copy" }, { copyRecord });
      expect(await store.beside.readTurn({ id: "copy" }, nameOf(1))).toMatchObject({ done: false, count: 1, first: 1 });
    }
  });

  it("share fields of at most 800 bytes where a session has many turns", async () => {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({ client, keyPrefix });
    for (let turn = 0; turn < 600; turn += 1) {
      await appendTurn(store, turn, { count: 1, done: true });
    }
    const fields = Object.entries(await client.hgetall(sessionKeys(keyPrefix, session).ids));
    const shared = fields.filter(([name]) => name.startsWith("[turns:"));
    expect(Math.max(...shared.map(([, text]) => text.length))).toBeLessThanOrEqual(800);
    expect(shared.length).toBeLessThan(100);
    expect(fields.every(([name]) => name.length === 14)).toBe(true);
    const names = Array.from({ length: 600 }, (_, turn) => nameOf(turn));
    const { turns: found } = await store.copies.readMarks({ id: session }, { turns: names });
    expect(found.map((mark) => mark?.first)).toEqual(Array.from({ length: 600 }, (_, turn) => turn));
  });

  it("change one by one where many share a field", async () => {
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
    const count = 100;
    for (let turn = 0; turn < count; turn += 1) {
      await appendTurn(store, turn, { count: 1, done: false });
    }
    const names = Array.from({ length: count }, (_, turn) => nameOf(turn));
    const expected = names.map((_, turn) => ({ done: false, count: 1, first: turn }));
    for (const turn of [40, 99, 33, 5]) {
      await appendTurn(store, turn, { count: 2, done: true });
      expected[turn] = { done: true, count: 3, first: turn };
      const { turns: found } = await store.copies.readMarks({ id: session }, { turns: names });
      expect(found).toEqual(expected);
    }
  });

  it("lie in one field where their names do not differ in the characters by which fields are divided", async () => {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({ client, keyPrefix });
    const count = 120;
    const names = Array.from({ length: count }, (_, index) => `aaaaaa${String(index).padStart(8, "b")}`);
    for (const [index, name] of names.entries()) {
      await store.append({ id: session }, { records: [recordOf(index, 0)], turn: { name, stored: 0, done: true } });
    }
    const marks = names.map((_, first) => ({ done: true, count: 1, first }));
    expect((await store.copies.readMarks({ id: session }, { turns: names })).turns).toEqual(marks);
    const { ids } = sessionKeys(keyPrefix, session);
    expect((await client.hget(ids, "[turns:111111]"))!.length).toBeGreaterThan(800);
    const fields = await client.hkeys(ids);
    expect(fields.every((name) => name.length === 14)).toBe(true);
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
      const keyPrefix = uniquePrefix();
      const store = new RedisSessionStore({ client, keyPrefix });
      for (let turn = 0; turn < count; turn += 1) {
        await appendTurn(store, turn, { count: 1, done: turn % 2 === 0 });
      }
      const to = count / 2;
      const names = Array.from({ length: count }, (_, turn) => nameOf(turn));
      // A rewind names the turns that it can read: here those with a mark of their own.
      const own = await client.hmget(sessionKeys(keyPrefix, session).ids, ...names);
      const turns = names
        .filter((_, turn) => turn >= to && own[turn] !== null)
        .map((name) => ({ name, count: 0, first: to }));
      const view = await store.readView({ id: session });
      await store.edits.rewind({ id: session }, { ...asRead(view), to, forget: [], turns });
      const { turns: found } = await store.copies.readMarks({ id: session }, { turns: names });
      const left = Array.from({ length: to }, (_, turn) => ({ done: turn % 2 === 0, count: 1, first: turn }));
      expect(found).toEqual([...left, ...Array.from({ length: to }, () => undefined)]);
      await appendTurn(store, count - 1, { count: 1, done: true });
      expect(await store.beside.readTurn({ id: session }, nameOf(count - 1))).toMatchObject({ done: true, first: to });
    }
  });

  it("are read and written in the form that sessions of before have", async () => {
    const keyPrefix = uniquePrefix();
    const { log, ids, state } = sessionKeys(keyPrefix, session);
    const store = new RedisSessionStore({ client, keyPrefix });
    const records = Array.from({ length: 50 }, (_, turn) => recordOf(turn, 0));
    const entries = records.flatMap(({ id, digest }, index) => [idHash(id), `${digest}${index}`]);
    const old = records.flatMap((_, turn) => [nameOf(turn), `${turn % 5 > 0 ? "T" : "t"}0000001${turn}`]);
    const explanation = "SHA-256 of a message id in base64url = that of the content, then the position in the log";
    await client.rpush(log, ...records.map(({ record }) => record));
    await client.hset(ids, "[how to read:]", explanation, ...entries, ...old);
    const numbers = { base: 0, start: 0, next: 50, rounds: 0, updated: 1, created: 1 };
    await client.hset(state, { epoch: "old", rev: "old", ...numbers });

    const again = await store.append(
      { id: session },
      {
        records: [recordOf(7, 9)],
        turn: { name: nameOf(7), stored: 0, done: true },
      },
    );
    expect([again.appended, again.turn?.count, again.turn?.first]).toEqual([0, 1, 7]);
    await appendTurn(store, 10, { count: 2, done: true });
    expect(await client.hget(ids, nameOf(10))).toBe("T000000310");
    await appendTurn(store, 60, { count: 1, done: true });
    expect((await store.readView({ id: session }, { turn: nameOf(60) })).turn).toEqual({
      done: true,
      count: 1,
      first: 52,
    });
    expect((await store.readView({ id: session }, { turn: nameOf(11) })).turn).toEqual({
      done: true,
      count: 1,
      first: 11,
    });
    await rewind(store, 0.5);
    const asked = { turns: [10, 11, 25, 26, 27, 60].map(nameOf) };
    const { turns: found } = await store.copies.readMarks({ id: session }, asked);
    expect(found.map((mark) => mark?.count)).toEqual([1, 1, 1, undefined, undefined, undefined]);
    await store.edits.rebuild({ id: session }, identify);
    const { turns: rebuilt } = await store.copies.readMarks({ id: session }, { turns: [11, 25, 26].map(nameOf) });
    expect(rebuilt).toEqual([{ done: true, count: 1, first: 11 }, { done: true, count: 1, first: 25 }, undefined]);
    expect(await client.hexists(ids, nameOf(11))).toBe(0);
  });
});
