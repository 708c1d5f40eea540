import { strict as assert } from "node:assert";
import { asRead, code, everything, record, records, written, type StoreCase } from "./store-case.js";

/** Preconditions of a write. */
export const expectationCases: readonly StoreCase[] = [
  {
    title: "an append that expects a position is written only there",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: records("a", 2), expectedNext: 0 });
      await store.append(session, { records: [record("b")], expectedNext: 2 });
      const before = await everything(context);
      await assert.rejects(store.append(session, { records: [record("c")], expectedNext: 2 }), {
        code: "position",
        sessionId: session.id,
      });
      await assert.rejects(store.append(session, { records: [record("c")], expectedNext: 4 }), code("position"));
      assert.deepEqual(await everything(context), before);
    },
  },
  {
    title: "repeating an append that expects a position is answered, not refused",
    async check({ store, session }) {
      const request = { records: records("a", 2), expectedNext: 0 };
      const first = await store.append({ ...session, hold: { epoch: "" } }, request);
      const again = await store.append({ ...session, hold: { epoch: "" } }, request);
      assert.deepEqual([again.appended, again.duplicates, again.next, again.epoch], [0, 2, 2, first.epoch]);
    },
  },
  {
    title: "repeating an append that keeps other content is answered, and an append of nothing repeats none",
    async check({ store, session }) {
      await store.append(session, { records: [record("a")] });
      const request = { records: [record("a", { text: "other" }), record("b")], expectedNext: 1 };
      const first = await store.append(session, { ...request, onConflict: "keep" });
      const again = await store.append(session, { ...request, onConflict: "keep" });
      assert.deepEqual([first.appended, first.conflicts, first.next], [1, [0], 2]);
      assert.deepEqual([again.appended, again.duplicates, again.conflicts, again.next], [0, 1, [0], 2]);
      await assert.rejects(store.append(session, request), code("position"));
      await assert.rejects(store.append(session, { records: [], expectedNext: 1 }), code("position"));
    },
  },
  {
    title: "an append that expects an epoch is refused in any other",
    async check(context) {
      const { store, session } = context;
      await assert.rejects(
        store.append({ ...session, hold: { epoch: "some other" } }, { records: [record("a")] }),
        code("epoch"),
      );
      const { epoch } = await store.append(session, { records: [record("a")] });
      const held = { ...session, hold: { epoch } };
      const resend = { records: [record("b")] };
      await store.append(held, resend);
      await store.clear(session);
      await assert.rejects(store.append(held, resend), { code: "epoch", sessionId: session.id });
      assert.equal((await store.readView(session)).epoch, "");
      await store.append(session, { records: [record("b")] });
      await assert.rejects(store.append(held, resend), code("epoch"));
    },
  },
  {
    title: "an append that expects no session is refused if there is one",
    async check({ store, session }) {
      const none = { ...session, hold: { epoch: "" } };
      await store.append(none, { records: [record("a")] });
      await assert.rejects(store.append(none, { records: [record("b")] }), code("epoch"));
    },
  },
  {
    title: "what was planned on a log that ended with another message changes nothing",
    async check(context) {
      const { store, session } = context;
      const read = { ...asRead(await written(context, records("a", 3))), lastId: "b3" };
      const before = await everything(context);
      const cut = { ...read, to: 1, forget: ["a2", "a3"] };
      assert.equal(await store.commitReduction(session, { ...read, start: 2, head: "h", headCount: 1 }), "stale");
      assert.equal(await store.edits.rewind(session, cut), "stale");
      assert.equal(await store.edits.replaceTail(session, { records: [record("c")], cut }), "stale");
      assert.deepEqual(await everything(context), before);
    },
  },
  {
    title:
      "what was planned on a log that still ends as it was read is done, a reduction also where others wrote since",
    async check(context) {
      const { store, session } = context;
      const read = { ...asRead(await written(context, records("a", 3))), lastId: "a3" };
      await store.append(session, { records: [record("b")] });
      assert.equal(await store.commitReduction(session, { ...read, start: 2, head: "h", headCount: 1 }), "committed");
      const behind = { ...asRead(await store.readView(session)), lastId: "b", to: 3, forget: ["b"] };
      assert.equal(await store.edits.rewind(session, behind), "rewound");
      const cut = { ...asRead(await store.readView(session)), lastId: "a3", to: 2, forget: ["a3", "b"] };
      assert.notEqual(await store.edits.replaceTail(session, { records: [record("c")], cut }), "stale");
    },
  },
  {
    title: "a replacement that expects another position is refused for that, also where its cut is outdated",
    async check(context) {
      const { store, session } = context;
      const read = asRead(await written(context, records("a", 3)));
      const before = await everything(context);
      const cut = { ...read, to: 2, forget: ["a3"] };
      const request = { records: [record("c")], expectedNext: 1 };
      for (const rev of [read.rev, "another"]) {
        await assert.rejects(store.edits.replaceTail(session, { ...request, cut: { ...cut, rev } }), code("position"));
      }
      const outdated = { ...request, expectedNext: 2, cut: { ...cut, rev: "another" } };
      assert.equal(await store.edits.replaceTail(session, outdated), "stale");
      assert.deepEqual(await everything(context), before);
    },
  },
  {
    title: "a writer with an outdated fencing token changes nothing",
    async check(context) {
      const { store, session } = context;
      const { epoch } = await store.append({ ...session, hold: { epoch: "", token: 7 } }, { records: [record("a")] });
      const within = (token: number) => ({ ...session, hold: { epoch, token } });
      await store.append(within(7), { records: [record("b")] });
      await store.append(session, { records: [record("c")] });
      const before = await everything(context);
      await assert.rejects(store.append(within(6), { records: [record("d")] }), {
        code: "fenced",
        sessionId: session.id,
      });
      assert.deepEqual(await everything(context), before);
      await store.append(within(Number.MAX_SAFE_INTEGER), { records: [record("d")] });
      await assert.rejects(
        store.append(within(Number.MAX_SAFE_INTEGER - 1), { records: [record("e")] }),
        code("fenced"),
      );
    },
  },
  {
    title: "a refused append leaves the expiry and the fields as they were",
    async check(context) {
      const { store, session, time, wait } = context;
      await written(context, [record("a")], { side: { set: { kept: "1" } } });
      const request = {
        records: [record("b")],
        expectedNext: 9,
        ttlMs: time(20),
        side: { set: { kept: "2" }, remove: ["kept"] },
      };
      await assert.rejects(store.append(session, request), code("position"));
      await wait(60);
      assert.deepEqual(await store.data.readSide(session, ""), { kept: "1" });
      assert.equal((await store.readView(session)).next, 1);
    },
  },
];
