import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { strict as assert } from "node:assert";
import { asRead, everything, human, record, records, texts, written, type StoreCase } from "./store-case.js";

/** Committing a reduction, by comparison with what was read. */
export const reductionCases: readonly StoreCase[] = [
  {
    title: "a committed reduction becomes the view; the log stays",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      assert.equal(
        await store.commitReduction(session, { ...asRead(view), start: 7, head: "a head\n{}", headCount: 2 }),
        "committed",
      );
      const reduced = await store.readView(session);
      assert.deepEqual([reduced.epoch, reduced.base, reduced.start, reduced.next], [view.epoch, 0, 7, 10]);
      assert.deepEqual(
        [reduced.head, reduced.headCount, reduced.records],
        ["a head\n{}", 2, texts(records("a", 10).slice(7))],
      );
      assert.notEqual(reduced.rev, view.rev);
      assert.deepEqual((await readLog(store, session)).records, texts(records("a", 10)));
    },
  },
  {
    title: "a commit based on an old view changes nothing",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.commitReduction(session, { ...asRead(view), start: 5, head: "first", headCount: 1 });
      const before = await everything(context);
      assert.equal(
        await store.commitReduction(session, { ...asRead(view), start: 7, head: "second", headCount: 1 }),
        "stale",
      );
      assert.deepEqual(await everything(context), before);
    },
  },
  {
    title: "exactly one of two concurrent reductions is committed",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      const commits = [1, 2, 3, 4].map((start) =>
        store.commitReduction(session, { ...asRead(view), start, head: `${start}`, headCount: 1 }),
      );
      const outcomes = await Promise.all(commits);
      assert.equal(outcomes.filter((outcome) => outcome === "committed").length, 1);
      assert.equal((await store.readView(session)).start, outcomes.indexOf("committed") + 1);
    },
  },
  {
    title: "messages that arrive while a reduction runs are not lost",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.append(session, { records: records("b", 2) });
      assert.equal(
        await store.commitReduction(session, { ...asRead(view), start: 10, head: "all of a", headCount: 1 }),
        "committed",
      );
      assert.deepEqual((await store.readView(session)).records, texts(records("b", 2)));
    },
  },
  {
    title: "a commit for another epoch, an unknown session or a longer log changes nothing",
    async check(context) {
      const { store, session } = context;
      const commit = { start: 1, head: "h", headCount: 1 };
      assert.equal(await store.commitReduction(session, { epoch: "", rev: "", next: 1, ...commit }), "stale");
      const view = await written(context, records("a", 3));
      assert.equal(await store.commitReduction(session, { ...asRead(view), epoch: "another", ...commit }), "stale");
      assert.equal(await store.commitReduction(session, { ...asRead(view), next: 4, ...commit }), "stale");
      await store.clear(session);
      const second = await written(context, records("a", 3));
      assert.equal(await store.commitReduction(session, { ...asRead(view), ...commit }), "stale");
      assert.deepEqual(await store.readView(session), second);
    },
  },
  {
    title: "the start may be the first record that is left",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 3));
      const discarded = { ...asRead(view), start: 2, head: "", headCount: 0, discard: true };
      await store.commitReduction(session, discarded);
      const later = await store.readView(session);
      const first = { ...asRead(later), start: 2, head: "h", headCount: 1 };
      assert.equal(await store.commitReduction(session, first), "committed");
      assert.deepEqual((await store.readView(session)).records, texts(records("a", 3).slice(2)));
    },
  },
  {
    title: "a later reduction may move the start back or forward",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.commitReduction(session, { ...asRead(view), start: 8, head: "h", headCount: 1 });
      const reduced = await store.readView(session);
      assert.equal(
        await store.commitReduction(session, { ...asRead(reduced), start: 2, head: "", headCount: 0 }),
        "committed",
      );
      const wide = await store.readView(session);
      assert.deepEqual([wide.start, wide.head, wide.records], [2, "", texts(records("a", 10).slice(2))]);
    },
  },
  {
    title: "discarding removes what precedes the start, and positions stay the same",
    async check(context) {
      const { store, session } = context;
      const chat = [human("q1"), record("a1"), human("q2"), record("a2"), human("q3"), record("a3")];
      const view = await written(context, chat);
      const discard = true;
      assert.equal(
        await store.commitReduction(session, { ...asRead(view), start: 4, head: "h", headCount: 1, discard }),
        "committed",
      );
      const left = await store.readView(session);
      assert.deepEqual([left.base, left.start, left.next, left.records], [4, 4, 6, texts(chat.slice(4))]);
      assert.deepEqual(await readLog(store, session, { from: 0, limit: 1 }), {
        records: [chat[4]!.record],
        from: 4,
        base: 4,
        next: 6,
        damaged: false,
      });
      const lastRound = { records: texts(chat.slice(4)), from: 4, firstRound: 3, damaged: false };
      assert.deepEqual(await readLastRounds(store, session, 9), lastRound);
      assert.equal((await store.append(session, { records: [record("a3"), record("n")] })).duplicates, 1);
      assert.equal((await store.append(session, { records: [record("a1")] })).next, 7);
    },
  },
  {
    title: "discarding the whole log keeps the head, the epoch and the positions",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 3), { side: { set: { field: "1" } } });
      const commit = {
        ...asRead(view),
        start: 3,
        head: "summary",
        headCount: 1,
        discard: true,
      };
      assert.equal(await store.commitReduction(session, commit), "committed");
      const left = await store.readView(session);
      assert.deepEqual(
        [left.epoch, left.base, left.start, left.next, left.head, left.records],
        [view.epoch, 3, 3, 3, "summary", []],
      );
      assert.deepEqual(await store.data.readSide(session, ""), { field: "1" });
      assert.deepEqual((await written(context, [record("b")])).records, [record("b").record]);
      assert.equal((await store.readView(session)).next, 4);
    },
  },
  {
    title: "all ids go on counting as stored after a discard",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 4));
      await store.commitReduction(session, {
        ...asRead(view),
        start: 2,
        head: "",
        headCount: 0,
        discard: true,
      });
      const again = await store.append(session, { records: records("a", 4) });
      assert.deepEqual([again.appended, again.duplicates], [0, 4]);
    },
  },
];
