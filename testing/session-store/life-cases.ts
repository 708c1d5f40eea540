import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { strict as assert } from "node:assert";
import { asRead, code, everything, human, record, records, texts, written, type StoreCase } from "./store-case.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import type { NewRecord } from "../../src/store/contract/session-writes.js";

const identifyAs = (list: readonly NewRecord[]) => (text: string) => list.find((item) => item.record === text);

/** Beginning, expiry, clearing, rebuilding and closing. */
export const lifeCases: readonly StoreCase[] = [
  {
    title: "a cleared session shows nothing from before",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 3), { as: { hold: { epoch: "", token: 9 } } });
      await store.commitReduction(session, { ...asRead(view), start: 2, head: "h", headCount: 1 });
      await store.clear(session);
      assert.equal((await store.readView(session)).epoch, "");
      const next = await written(context, records("a", 2), { as: { hold: { epoch: "", token: 1 } } });
      assert.ok(next.epoch !== view.epoch && next.rev !== view.rev);
      assert.deepEqual([next.start, next.next, next.head, next.records], [0, 2, "", texts(records("a", 2))]);
    },
  },
  {
    title: "clearing a session that does not exist does nothing",
    async check({ store, session }) {
      await store.clear(session);
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "an expired session shows nothing from before",
    async check(context) {
      const { store, session, time, wait } = context;
      const first = await written(context, [human("q1"), record("a1")], {
        side: { set: { field: "1" } },
        ttlMs: time(300),
        as: { hold: { epoch: "", token: 9 } },
      });
      assert.equal(first.next, 2);
      await wait(400);
      assert.equal((await store.readView(session)).epoch, "");
      assert.deepEqual((await readLog(store, session)).records, []);
      assert.deepEqual(await store.data.readSide(session, ""), {});
      const next = await written(context, [human("q1")], { as: { hold: { epoch: "", token: 1 } } });
      assert.ok(next.epoch !== first.epoch);
      assert.deepEqual(next.records, [human("q1").record]);
      assert.equal((await readLastRounds(store, session, 9)).firstRound, 1);
    },
  },
  {
    title: "each append with a time to live renews it; one without leaves it alone",
    async check({ store, session, time, wait }) {
      await store.append(session, { records: [record("a")], ttlMs: time(500) });
      await wait(300);
      await store.append(session, { records: [record("b")], ttlMs: time(500) });
      await wait(300);
      await store.append(session, { records: [record("c")] });
      assert.equal((await store.readView(session)).next, 3);
      await wait(300);
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "a repeated append and an empty append renew the time to live, too",
    async check({ store, session, time, wait }) {
      await store.append(session, { records: [record("a")], ttlMs: time(500) });
      await wait(300);
      await store.append(session, { records: [record("a")], ttlMs: time(500) });
      await wait(300);
      await store.append(session, { records: [], ttlMs: time(500) });
      await wait(300);
      assert.equal((await store.readView(session)).next, 1);
    },
  },
  {
    title: "a session without a time to live does not expire",
    async check(context) {
      await written(context, [record("a")]);
      await context.wait(60);
      assert.equal((await context.store.readView(context.session)).next, 1);
    },
  },
  {
    title: "a reduction leaves the expiry alone",
    async check(context) {
      const { store, session, time, wait } = context;
      const view = await written(context, records("a", 4), { ttlMs: time(400) });
      await store.commitReduction(session, { ...asRead(view), start: 2, head: "h", headCount: 1 });
      assert.equal((await store.readView(session)).next, 4);
      await wait(500);
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "rebuilding an undamaged session only makes older views stale",
    async check(context) {
      const { store, session } = context;
      const list = [human("q1"), record("a1"), human("q2"), record("a2")];
      await written(context, list, { side: { set: { field: "1" } } });
      const view = await store.readView(session);
      await store.commitReduction(session, { ...asRead(view), start: 2, head: "h", headCount: 1 });
      const before = (await everything(context)) as { view: object };
      const { rev, ...rest } = await store.readView(session);
      await store.edits.rebuild(session, identifyAs(list));
      const { rev: newRev, ...restAfter } = await store.readView(session);
      assert.deepEqual(restAfter, rest);
      assert.notEqual(newRev, rev);
      assert.deepEqual({ ...((await everything(context)) as object), view: before.view }, before);
      assert.equal((await store.append(session, { records: list })).duplicates, 4);
    },
  },
  {
    title: "rebuilding tolerates unreadable records and repeated ids",
    async check({ store, session }) {
      await store.append(session, { records: records("a", 4) });
      const known = records("a", 1)[0]!;
      await store.edits.rebuild(session, (_text, position) => (position === 2 ? undefined : known));
      const result = await store.append(session, { records: [known, record("a2")] });
      assert.deepEqual([result.appended, result.duplicates, result.next], [1, 1, 5]);
    },
  },
  {
    title: "rebuilding a session that does not exist does not create it",
    async check({ store, session }) {
      await store.edits.rebuild(session, () => undefined);
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "a lease has one holder until it is released",
    async check({ store, session }) {
      const token = await store.data.acquireLease(session, 60_000);
      assert.ok(token !== undefined && token !== "");
      assert.equal(await store.data.acquireLease(session, 60_000), undefined);
      await store.data.releaseLease(session, "another token");
      assert.equal(await store.data.acquireLease(session, 60_000), undefined);
      await store.data.releaseLease(session, token);
      assert.ok((await store.data.acquireLease(session, 60_000)) !== undefined);
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "a clear leaves the lease to its holder",
    async check({ store, session }) {
      await store.append(session, { records: [record("a")] });
      const token = await store.data.acquireLease(session, 60_000);
      await store.clear(session);
      assert.equal(await store.data.acquireLease(session, 60_000), undefined);
      const place = await store.data.acquireHold(session, { ticket: "a", holdMs: 60_000, graceMs: 60_000 });
      await store.clear({ ...session, ...(place.isHeld && { hold: place.hold }) });
      assert.equal(await store.data.acquireLease(session, 60_000), undefined);
      await store.data.releaseLease(session, token!);
      assert.ok((await store.data.acquireLease(session, 60_000)) !== undefined);
    },
  },
  {
    title: "an expired lease can be acquired, and its former holder cannot release it",
    async check({ store, session, time, wait }) {
      const first = await store.data.acquireLease(session, time(40));
      await wait(100);
      const second = await store.data.acquireLease(session, 60_000);
      assert.ok(first !== undefined && second !== undefined && first !== second);
      await store.data.releaseLease(session, first);
      assert.equal(await store.data.acquireLease(session, 60_000), undefined);
    },
  },
  {
    title: "a closed store refuses every call, and closing it again does nothing",
    async check({ store, session }) {
      if ((store as SessionStore).close === undefined) {
        return;
      }
      await store.close();
      await store.close();
      await assert.rejects(store.append(session, { records: [record("a")] }), code("closed"));
      await assert.rejects(store.readView(session), code("closed"));
      await assert.rejects(store.clear(session), code("closed"));
      const optional = [
        () => store.data.writeSide(session, { set: { field: "1" } }),
        () => store.edits.rebuild(session, () => undefined),
      ];
      for (const call of optional) {
        await assert.rejects(call(), code("closed"));
      }
    },
  },
];
