import { strict as assert } from "node:assert";
import { asRead, code, everything, record, records, type StoreCase } from "./store-case.js";
import { taken } from "./hold-cases.js";

/** Writes that are refused after a turn is over. */
export const fenceCases: readonly StoreCase[] = [
  {
    title: "no write of a turn passes once another has begun, even before that one writes",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: records("a", 2) });
      const late = await taken(context, "late");
      await store.data.releaseHold(session, "late");
      await taken(context, "next");
      const before = await everything(context);
      const view = await store.readView(session);
      const cut = { ...asRead(view), to: 1, forget: ["a2"] };
      const commit = { ...asRead(view), start: 1, head: "", headCount: 0 };
      const writes = [
        store.append(late, { records: [record("b")] }),
        store.edits.replaceTail(late, { records: [record("b")], cut }),
        store.edits.rewind(late, cut),
        store.data.writeSide(late, { set: { a: "1" } }),
        store.commitReduction(late, commit),
        store.clear(late),
      ];
      for (const write of writes) {
        await assert.rejects(write, { code: "fenced", sessionId: session.id });
      }
      assert.deepEqual(await everything(context), before);
    },
  },
  {
    title: "no write of a turn passes once its session was cleared, whether it came back or not",
    async check(context) {
      const { store, session } = context;
      const late = await taken(context, "late");
      await store.append(late, { records: [record("a")] });
      await store.clear(session);
      for (const comesBack of [false, true]) {
        if (comesBack) {
          await store.append(session, { records: [record("new")] });
        }
        const before = await everything(context);
        await assert.rejects(store.append(late, { records: [record("b")] }), { code: "epoch", sessionId: session.id });
        await assert.rejects(store.data.writeSide(late, { set: { a: "1" } }), code("epoch"));
        await assert.rejects(store.clear(late), code("epoch"));
        assert.deepEqual(await everything(context), before);
      }
    },
  },
  {
    title: "a turn whose time ran out may still write while no other has begun",
    async check(context) {
      const { store, session, time, wait } = context;
      const late = await taken(context, "late", time(20));
      await wait(50);
      await store.append(late, { records: [record("a")] });
      assert.equal((await store.readView(session)).next, 1);
    },
  },
  {
    title: "a session that is cleared within its turn is empty, and the turn goes on",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: records("a", 2), side: { set: { a: "1" } } });
      const held = await taken(context, "a");
      const epoch = await store.clear(held);
      assert.notEqual(epoch, held.hold.epoch);
      const empty = await store.readView(session);
      assert.deepEqual([empty.next, empty.records, await store.data.readSide(session, "")], [0, [], {}]);
      assert.equal((await store.data.acquireHold(session, { ticket: "b", holdMs: 1, graceMs: 9_000 })).isHeld, false);
      const again = { ...held, hold: { ...held.hold, epoch } };
      assert.equal((await store.append(again, { records: records("a", 2) })).appended, 2);
    },
  },
  {
    title: "a session that is rewound to nothing within a turn lives until the turn ends",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: records("a", 2) });
      const held = await taken(context, "a");
      const request = { ...asRead(await store.readView(session)), to: 0, forget: ["a1", "a2"] };
      assert.equal(await store.edits.rewind(held, request), "rewound");
      const { appended } = await store.append(held, { records: records("a", 1) });
      assert.equal(appended, 1);
      const { next, damaged } = await store.readView(session);
      assert.deepEqual([next, damaged], [1, false]);
    },
  },
];
