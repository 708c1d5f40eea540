import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { strict as assert } from "node:assert";
import { asRead, everything, human, record, records, texts, written, type StoreCase } from "./store-case.js";

const ids = (letter: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${letter}${from + index}`);

/** Going back to before a message. */
export const rewindCases: readonly StoreCase[] = [
  {
    title: "a rewind removes the end of the log, and the removed messages can be written again",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 5));
      assert.equal(await store.edits.rewind(session, { ...asRead(view), to: 3, forget: ids("a", 4, 5) }), "rewound");
      const back = await store.readView(session);
      assert.deepEqual([back.epoch, back.next, back.records], [view.epoch, 3, texts(records("a", 3))]);
      assert.notEqual(back.rev, view.rev);
      const again = await store.append(session, { records: records("a", 5) });
      assert.deepEqual([again.appended, again.duplicates, again.next], [2, 3, 5]);
    },
  },
  {
    title: "a rewind to a position after the start leaves head and start alone",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.commitReduction(session, { ...asRead(view), start: 4, head: "h", headCount: 1 });
      const reduced = await store.readView(session);
      assert.equal(
        await store.edits.rewind(session, { ...asRead(reduced), to: 4, forget: ids("a", 5, 10) }),
        "rewound",
      );
      const back = await store.readView(session);
      assert.deepEqual([back.start, back.next, back.head, back.headCount, back.records], [4, 4, "h", 1, []]);
    },
  },
  {
    title: "a rewind to a position before the start empties the head and shows the remaining log",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.commitReduction(session, { ...asRead(view), start: 8, head: "h", headCount: 3 });
      const reduced = await store.readView(session);
      assert.equal(
        await store.edits.rewind(session, { ...asRead(reduced), to: 5, forget: ids("a", 6, 10) }),
        "rewound",
      );
      const back = await store.readView(session);
      assert.deepEqual(
        [back.start, back.next, back.head, back.headCount, back.records],
        [0, 5, "", 0, texts(records("a", 5))],
      );
    },
  },
  {
    title: "a rewind to the start shows the remaining log where no head stands for it",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.commitReduction(session, { ...asRead(view), start: 6, head: "", headCount: 0 });
      const reduced = await store.readView(session);
      assert.equal(
        await store.edits.rewind(session, { ...asRead(reduced), to: 6, forget: ids("a", 7, 10) }),
        "rewound",
      );
      const back = await store.readView(session);
      assert.deepEqual([back.start, back.next, back.records], [0, 6, texts(records("a", 6))]);
    },
  },
  {
    title: "a rewind to the start leaves a head as it is: what stands before the start stays out of the view",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.commitReduction(session, { ...asRead(view), start: 6, head: "[system]", headCount: 1 });
      const reduced = await store.readView(session);
      assert.equal(
        await store.edits.rewind(session, { ...asRead(reduced), to: 6, forget: ids("a", 7, 10) }),
        "rewound",
      );
      const back = await store.readView(session);
      assert.deepEqual([back.start, back.next, back.head, back.records], [6, 6, "[system]", []]);
    },
  },
  {
    title: "a rewind based on an old view changes nothing",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 5));
      await store.append(session, { records: [record("b")] });
      const before = await everything(context);
      assert.equal(await store.edits.rewind(session, { ...asRead(view), to: 3, forget: ids("a", 4, 5) }), "stale");
      assert.equal(
        await store.edits.rewind(session, { ...asRead(view), next: 6, rev: "another", to: 3, forget: [] }),
        "stale",
      );
      assert.equal(
        await store.edits.rewind(session, { ...asRead(view), next: 6, epoch: "another", to: 3, forget: [] }),
        "stale",
      );
      assert.deepEqual(await everything(context), before);
    },
  },
  {
    title: "a reduction that runs during a rewind is not committed",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 5));
      await store.edits.rewind(session, { ...asRead(view), to: 2, forget: ids("a", 3, 5) });
      await store.append(session, { records: records("b", 3) });
      assert.equal(
        await store.commitReduction(session, { ...asRead(view), start: 4, head: "of what is gone", headCount: 1 }),
        "stale",
      );
      assert.equal((await store.readView(session)).head, "");
    },
  },
  {
    title: "a rewind leaves the expiry alone",
    async check(context) {
      const { store, session, time, wait } = context;
      const view = await written(context, records("a", 4), { ttlMs: time(400) });
      await store.edits.rewind(session, { ...asRead(view), to: 3, forget: ["a4"] });
      assert.equal((await store.readView(session)).next, 3);
      await wait(500);
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "a rewind to the beginning ends the session",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 3), { side: { set: { field: "1" } } });
      assert.equal(await store.edits.rewind(session, { ...asRead(view), to: 0, forget: ids("a", 1, 3) }), "rewound");
      assert.equal((await store.readView(session)).epoch, "");
      assert.deepEqual(await store.data.readSide(session, ""), {});
      const next = await written(context, records("a", 1));
      assert.ok(next.epoch !== view.epoch && next.next === 1);
    },
  },
  {
    title: "a rewind that removes nothing still makes older views stale",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 3));
      assert.equal(await store.edits.rewind(session, { ...asRead(view), to: 3, forget: [] }), "rewound");
      assert.equal(await store.edits.rewind(session, { ...asRead(view), to: 3, forget: [] }), "stale");
      assert.deepEqual((await store.readView(session)).records, texts(records("a", 3)));
    },
  },
  {
    title: "rounds removed by a rewind are not counted",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, [human("q1"), record("a1"), human("q2"), record("a2"), human("q3")]);
      await store.edits.rewind(session, { ...asRead(view), to: 2, forget: ["q2", "a2", "q3"] });
      await store.append(session, { records: [human("q4"), record("a4")] });
      assert.deepEqual(await readLastRounds(store, session, 1), {
        records: texts([human("q4"), record("a4")]),
        from: 2,
        firstRound: 2,
        damaged: false,
      });
    },
  },
  {
    title: "the total of tokens is unknown after a rewind",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, [record("a", { tokens: 1 }), record("b", { tokens: 2 })], { counter: "c1" });
      await store.edits.rewind(session, { ...asRead(view), to: 1, forget: ["b"] });
      const back = await store.readView(session);
      assert.deepEqual([back.tokens, back.counter], [undefined, ""]);
    },
  },
  {
    title: "a removed message can be written again even if its id was not named",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 3));
      await store.edits.rewind(session, { ...asRead(view), to: 1, forget: ["a1", "unknown"] });
      const again = await store.append(session, { records: records("a", 3) });
      assert.deepEqual([again.appended, again.duplicates], [2, 1]);
    },
  },
];
