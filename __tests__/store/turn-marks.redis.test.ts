import { readLog } from "../../src/store/contract/session-data.js";
import fc from "fast-check";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { idHash } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { storedTurn, asRead, forkOf } from "../../testing/session-store/store-case.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import type { NewRecord, LessenedTurn } from "../../src/store/contract/session-writes.js";
import { forAllAsync } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { identify } from "../support/store-commands.js";

const session = "s";
const turnCount = 400;
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

/** Rewinds to a place of the log, or puts a record in place of what is behind it. */
async function rewind(store: SessionStore, share: number, isReplaced: boolean) {
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
  const cut = { ...asRead(view), to, forget, turns };
  return isReplaced
    ? store.edits.replaceTail({ id: session }, { cut, records: [recordOf(turnCount, view.next)] })
    : store.edits.rewind({ id: session }, cut);
}

async function discard(store: SessionStore, share: number) {
  const view = await store.readView({ id: session });
  const start = view.base + Math.floor((view.next - view.base) * share);
  return store.commitReduction({ id: session }, { ...asRead(view), start, head: "h", headCount: 1, discard: true });
}

type Command = (store: SessionStore) => Promise<unknown>;

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ turn: fc.nat(turnCount - 1), count: fc.nat(3), done: fc.boolean() }).map(
      ({ turn, ...rest }): Command =>
        (store) =>
          appendTurn(store, turn, rest),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({ first: fc.nat(turnCount - 60), count: fc.integer({ min: 5, max: 60 }) })
      .map(({ first, count }): Command => async (store) => {
        for (let turn = first; turn < first + count; turn += 1) {
          await appendTurn(store, turn, { count: 1, done: turn % 5 > 0 });
        }
      }),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constantFrom(0, 0.2, 0.6, 0.9, 1), fc.boolean()).map(
      ([share, isReplaced]): Command =>
        (store) =>
          rewind(store, share, isReplaced),
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
    const names = Array.from({ length: turnCount }, (_, turn) => nameOf(turn));
    const { turns: found } = await store.copies.readMarks({ id: session }, { turns: names });
    const seen = await Promise.all([0, 7, 90].map((turn) => store.readView({ id: session }, { turn: nameOf(turn) })));
    return [
      found,
      seen.map(({ turn }) => turn),
      await Promise.all([1, 8, 91].map((n) => storedTurn(store, { id: session }, nameOf(n)))),
    ];
  };

  it("are those of the in-memory model, for few turns and for many", () =>
    forAllAsync(6, fc.array(command, { minLength: 1, maxLength: 25, size: "max" }), async (list) => {
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
    }));

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
