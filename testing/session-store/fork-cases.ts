import { readLog, type CopiedRecord } from "../../src/store/contract/session-data.js";
import { strict as assert } from "node:assert";
import type { NewRecord } from "../../src/store/contract/session-writes.js";
import {
  storedTurn,
  asRead,
  code,
  forkOf,
  human,
  option,
  record,
  records,
  texts,
  type Copying,
  written,
} from "./store-case.js";
import type { StoreCase } from "./store-case.js";

const turnName = "turn-name-0001";

/** Copies records as they are; they are those of the list, and the `turn` belongs to a turn. */
function copying(list: readonly NewRecord[], turn: readonly NewRecord[] = []): Copying {
  const known = new Map(list.map((item) => [item.record, item]));
  const ofTurn = new Set(turn.map((item) => item.record));
  return {
    copyRecord: (text): CopiedRecord => {
      const { id, digest } = known.get(text)!;
      const named = ofTurn.has(text) ? { turn: { name: turnName, ends: true } } : {};
      return { record: text, identity: { id, digest, ...named } };
    },
  };
}

/** Copies of sessions under another id. */
export const forkCases: readonly StoreCase[] = [
  {
    title: "a fork is refused where the new id was erased a short time ago",
    async check(context) {
      const { store, session } = context;
      const list = [human("q1"), record("a1")];
      await written(context, list);
      await store.lists.erase({ id: `${session.id}-copy` }, { guardMs: 60_000 });
      await assert.rejects(forkOf(store, session, { id: `${session.id}-copy` }, copying(list)), code("erased"));
    },
  },
  {
    title: "a fork has the records of its source, knows their ids, and lives on its own",
    async check(context) {
      const { store, session } = context;
      const list = [human("q1"), record("a1"), human("q2"), record("a2")];
      const view = await written(context, list);
      const forked = await forkOf(store, session, { id: `${session.id}-copy` }, copying(list));
      const copy = await store.readView({ id: `${session.id}-copy` });
      assert.deepEqual(forked, { epoch: copy.epoch, next: 4 });
      assert.notEqual(copy.epoch, view.epoch);
      assert.deepEqual([copy.records, copy.start, copy.next, copy.damaged], [texts(list), 0, 4, false]);
      const more = await store.append({ id: `${session.id}-copy` }, { records: [list[3]!, record("a3")] });
      assert.deepEqual([more.appended, more.duplicates, more.next], [1, 1, 5]);
      assert.deepEqual(await store.readView(session), view);
      await store.clear(session);
      assert.equal((await readLog(store, { id: `${session.id}-copy` })).records.length, 5);
    },
  },
  {
    title: "a fork holds the records before a position, and can hold none",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 5);
      await written(context, list);
      await forkOf(store, session, { id: `${session.id}-some` }, { ...copying(list), at: 3 });
      const some = await store.readView({ id: `${session.id}-some` });
      assert.deepEqual([some.records, some.next], [texts(list.slice(0, 3)), 3]);
      const none = await forkOf(store, session, { id: `${session.id}-none` }, { ...copying(list), at: 0 });
      assert.equal(none?.next, 0);
      assert.equal((await store.readView({ id: `${session.id}-none` })).epoch, none?.epoch);
      await store.append({ id: `${session.id}-none` }, { records: list });
      assert.equal((await store.readView({ id: `${session.id}-none` })).records.length, 5);
      await assert.rejects(
        forkOf(store, session, { id: `${session.id}-more` }, { ...copying(list), at: 6 }),
        code("position"),
      );
      assert.equal((await store.readView({ id: `${session.id}-more` })).epoch, "");
    },
  },
  {
    title: "a fork at the view's start or behind it has the same view, one before it shows all of its log",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 8);
      const view = await written(context, list);
      await store.commitReduction(session, {
        ...asRead(view),
        ...{ start: 4, head: "h", headCount: 2, tokens: 9, counter: "c" },
      });
      for (const at of [4, 6, 8]) {
        await forkOf(store, session, { id: `${session.id}-${at}` }, { ...copying(list), at });
        const copy = await store.readView({ id: `${session.id}-${at}` });
        assert.deepEqual([copy.start, copy.head, copy.headCount, copy.tokens], [4, "h", 2, undefined]);
        assert.deepEqual(copy.records, texts(list.slice(4, at)));
      }
      await forkOf(store, session, { id: `${session.id}-3` }, { ...copying(list), at: 3 });
      const early = await store.readView({ id: `${session.id}-3` });
      assert.deepEqual([early.start, early.head, early.headCount, early.tokens], [0, "", 0, undefined]);
      assert.deepEqual(early.records, texts(list.slice(0, 3)));
    },
  },
  {
    title: "a fork is refused onto a session that exists, and of one that does not",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 2);
      await written(context, list);
      const other = `${session.id}-other`;
      await store.append({ id: other }, { records: records("b", 1) });
      const before = await store.readView({ id: other });
      await assert.rejects(forkOf(store, session, { id: other }, copying(list)), code("exists"));
      await assert.rejects(forkOf(store, session, session, copying(list)), code("exists"));
      assert.deepEqual(await store.readView({ id: other }), before);
      assert.equal(
        await forkOf(store, { id: `${session.id}-no` }, { id: `${session.id}-new` }, copying(list)),
        undefined,
      );
      assert.equal((await store.readView({ id: `${session.id}-new` })).epoch, "");
    },
  },
  {
    title: "a fork keeps side fields, and expires as it is told to",
    async check(context) {
      const { store, session, time, wait } = context;
      const list = records("a", 2);
      await written(context, list, { side: { set: { field: "x" } }, ttlMs: time(60_000) });
      await forkOf(store, session, { id: `${session.id}-stays` }, copying(list));
      await forkOf(store, session, { id: `${session.id}-goes` }, { ...copying(list), ttlMs: time(200) });
      assert.deepEqual(await store.data.readSide({ id: `${session.id}-stays` }, ""), { field: "x" });
      await wait(300);
      assert.equal((await store.readView({ id: `${session.id}-goes` })).epoch, "");
      assert.equal((await store.readView({ id: `${session.id}-stays` })).records.length, 2);
    },
  },
  {
    title: "a fork knows the turns of its source; one that it holds in part is open",
    async check(context) {
      const { store, session } = context;
      const list = [record("a"), human("q"), record("b")];
      await written(context, [list[0]!]);
      const turn = { name: turnName, stored: 0, done: true };
      await store.append(session, { records: list.slice(1), turn });
      const copy = copying(list, list.slice(1));
      await forkOf(store, session, { id: `${session.id}-whole` }, copy);
      const whole = await storedTurn(store, { id: `${session.id}-whole` }, turnName);
      assert.deepEqual([whole?.done, whole?.count, whole?.first], [true, 2, 1]);
      await forkOf(store, session, { id: `${session.id}-part` }, { ...copy, at: 2 });
      const part = await storedTurn(store, { id: `${session.id}-part` }, turnName);
      assert.deepEqual([part?.done, part?.count, part?.first], [false, 1, 1]);
    },
  },
  {
    title: "a fork after records were discarded keeps their positions",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 6);
      const view = await written(context, list);
      const discard = true;
      await store.commitReduction(session, { ...asRead(view), start: 3, head: "", headCount: 0, discard });
      await forkOf(store, session, { id: `${session.id}-copy` }, { ...copying(list), at: 5 });
      const log = await readLog(store, { id: `${session.id}-copy` });
      assert.deepEqual([log.base, log.next, log.records], [3, 5, texts(list.slice(3, 5))]);
    },
  },
  {
    title: "a fork without a proper id is refused",
    async check({ store, session }) {
      const request = { copyRecord: () => ({ record: "{}", identity: undefined }) };
      await assert.rejects(forkOf(store, session, { id: "" }, request), option("sessionId"));
    },
  },
];
