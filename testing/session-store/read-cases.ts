import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { strict as assert } from "node:assert";
import { asRead, human, record, records, texts, written, type StoreCase } from "./store-case.js";

const chat = [
  record("greeting"),
  human("q1"),
  record("a1"),
  human("q2"),
  record("call"),
  record("result", { role: "tool" }),
  record("a2"),
  human("q3"),
];

/** Results of reads, and their positions. */
export const readCases: readonly StoreCase[] = [
  {
    title: "a session without writes is empty, and reading does not create it",
    async check({ store, session }) {
      const noRounds = { records: [], from: 0, firstRound: 1, damaged: false };
      for (let times = 0; times < 2; times += 1) {
        const numbers = { base: 0, start: 0, next: 0, headCount: 0 };
        const empty = {
          epoch: "",
          rev: "",
          ...numbers,
          head: "",
          tokens: undefined,
          counter: "",
          records: [],
          damaged: false,
        };
        assert.deepEqual(await store.readView(session), empty);
        assert.deepEqual(await readLastRounds(store, session, 3), noRounds);
        assert.deepEqual(await readLog(store, session), { records: [], from: 0, base: 0, next: 0, damaged: false });
        assert.deepEqual(await store.data.readSide(session, ""), {});
      }
    },
  },
  {
    title: "the last rounds are whole and numbered across the whole session",
    async check({ store, session }) {
      await store.append(session, { records: chat });
      assert.deepEqual(await readLastRounds(store, session, 1), {
        records: texts(chat.slice(7)),
        from: 7,
        firstRound: 3,
        damaged: false,
      });
      assert.deepEqual(await readLastRounds(store, session, 2), {
        records: texts(chat.slice(3)),
        from: 3,
        firstRound: 2,
        damaged: false,
      });
      assert.deepEqual(await readLastRounds(store, session, 3), {
        records: texts(chat.slice(1)),
        from: 1,
        firstRound: 1,
        damaged: false,
      });
    },
  },
  {
    title: "asking for more rounds than exist returns everything, including what precedes the first",
    async check({ store, session }) {
      await store.append(session, { records: chat });
      assert.deepEqual(await readLastRounds(store, session, 4), {
        records: texts(chat),
        from: 0,
        firstRound: 1,
        damaged: false,
      });
      assert.deepEqual(await readLastRounds(store, session, 1_000_000), {
        records: texts(chat),
        from: 0,
        firstRound: 1,
        damaged: false,
      });
    },
  },
  {
    title: "a session without a human message is one round",
    async check({ store, session }) {
      await store.append(session, { records: records("a", 3) });
      assert.deepEqual(await readLastRounds(store, session, 1), {
        records: texts(records("a", 3)),
        from: 0,
        firstRound: 1,
        damaged: false,
      });
    },
  },
  {
    title: "rounds of hundreds of messages are whole, too",
    async check({ store, session }) {
      const long = [
        human("q1"),
        ...records("a", 700),
        human("q2"),
        ...records("b", 500),
        human("q3"),
        ...records("c", 40),
      ];
      await store.append(session, { records: long });
      assert.deepEqual(await readLastRounds(store, session, 1), {
        records: texts(long.slice(1202)),
        from: 1202,
        firstRound: 3,
        damaged: false,
      });
      assert.deepEqual(await readLastRounds(store, session, 2), {
        records: texts(long.slice(701)),
        from: 701,
        firstRound: 2,
        damaged: false,
      });
      assert.deepEqual(await readLastRounds(store, session, 3), {
        records: texts(long),
        from: 0,
        firstRound: 1,
        damaged: false,
      });
    },
  },
  {
    title: "rounds before the start of the view are read as well",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, chat);
      await store.commitReduction(session, { ...asRead(view), start: 7, head: "h", headCount: 1 });
      const rounds = await readLastRounds(store, session, 2);
      assert.deepEqual([rounds.from, rounds.firstRound, rounds.records], [3, 2, texts(chat.slice(3))]);
    },
  },
  {
    title: "the log is read in pages, whatever the view contains",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 10);
      const view = await written(context, list);
      await store.commitReduction(session, { ...asRead(view), start: 8, head: "h", headCount: 1 });
      const page = (from: number, count: number, last = from + count) => ({
        records: texts(list.slice(from, last)),
        from,
        base: 0,
        next: 10,
        damaged: false,
      });
      assert.deepEqual(await readLog(store, session), page(0, 10));
      assert.deepEqual(await readLog(store, session, { limit: 4 }), page(0, 4));
      assert.deepEqual(await readLog(store, session, { from: 4, limit: 4 }), page(4, 4));
      assert.deepEqual(await readLog(store, session, { from: 8, limit: 4 }), page(8, 2));
      assert.deepEqual(await readLog(store, session, { from: 9 }), page(9, 1));
      assert.deepEqual(await readLog(store, session, { from: 10, limit: 1 }), page(10, 0));
      assert.deepEqual(await readLog(store, session, { from: 99 }), page(10, 0));
    },
  },
  {
    title: "later writes do not change a returned result",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 2));
      const page = await readLog(store, session);
      const rounds = await readLastRounds(store, session, 1);
      await store.append(session, { records: records("b", 2) });
      assert.deepEqual([view.records.length, page.records.length, rounds.records.length], [2, 2, 2]);
    },
  },
  {
    title: "a reader that expects no reductions still gets the actual view",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.commitReduction(session, { ...asRead(view), start: 7, head: "h", headCount: 1 });
      assert.deepEqual(await store.readView(session, { neverReduced: true }), await store.readView(session));
      assert.equal((await store.readView(session, { neverReduced: true })).records.length, 3);
    },
  },
];
