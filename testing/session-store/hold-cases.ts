import { strict as assert } from "node:assert";
import type { SessionHold, SessionRef } from "../../src/store/contract/session-ref.js";
import { record, type StoreCase, type StoreContext } from "./store-case.js";

const entry = (ticket: string, holdMs = 60_000) => ({ ticket, holdMs, graceMs: 60_000 });

/** A session in the hold of a turn. */
type HeldSession = SessionRef & { readonly hold: Required<SessionHold> };

/** Takes the turn, which must be free, and returns the session as its writes name it. */
export async function taken({ store, session }: StoreContext, ticket: string, holdMs?: number): Promise<HeldSession> {
  const place = await store.data.acquireHold(session, entry(ticket, holdMs));
  assert.ok(place.isHeld);
  return { ...session, hold: place.hold };
}

/** One turn of a session at a time. */
export const holdCases: readonly StoreCase[] = [
  {
    title: "a turn has one holder, and waiters get it in the order in which they came",
    async check(context) {
      const { store, session } = context;
      const { data } = store;
      const first = await taken(context, "a");
      assert.deepEqual(await data.acquireHold(session, entry("b")), { isHeld: false, ahead: 0 });
      assert.deepEqual(await data.acquireHold(session, entry("c")), { isHeld: false, ahead: 1 });
      assert.deepEqual(await data.acquireHold(session, entry("b")), { isHeld: false, ahead: 0 });
      await data.releaseHold(session, "a");
      assert.deepEqual(await data.acquireHold(session, entry("c")), { isHeld: false, ahead: 1 });
      const second = await taken(context, "b");
      assert.ok(second.hold.token > first.hold.token);
      assert.equal(second.hold.epoch, first.hold.epoch);
      await data.releaseHold(session, "b");
      await taken(context, "c");
    },
  },
  {
    title: "a repeated request for the turn finds itself the holder, with the same fence",
    async check(context) {
      const held = await taken(context, "a");
      assert.deepEqual(await taken(context, "a"), held);
      await context.store.append(held, { records: [record("a")] });
    },
  },
  {
    title: "a turn ends after its time, unless its holder renews it",
    async check(context) {
      const { store, session, time, wait } = context;
      await taken(context, "a", time(1_000));
      assert.equal(await store.data.renewHold(session, { ticket: "a", holdMs: time(60) }), true);
      assert.equal((await store.data.acquireHold(session, entry("b"))).isHeld, false);
      await wait(90);
      await taken(context, "b");
      assert.equal(await store.data.renewHold(session, { ticket: "a", holdMs: 1_000 }), false);
      await store.data.releaseHold(session, "a");
      assert.equal((await store.data.acquireHold(session, entry("c"))).isHeld, false);
    },
  },
  {
    title: "a waiter that leaves, or that is not seen for its grace, loses its place",
    async check(context) {
      const { store, session, time, wait } = context;
      const { data } = store;
      await taken(context, "a");
      await data.acquireHold(session, entry("left"));
      await data.acquireHold(session, entry("dead"));
      await data.releaseHold(session, "left");
      await data.releaseHold(session, "a");
      await wait(60);
      assert.deepEqual(await data.acquireHold(session, entry("b")), { isHeld: false, ahead: 1 });
      assert.equal((await data.acquireHold(session, { ...entry("b"), graceMs: time(30) })).isHeld, true);
      assert.equal((await data.acquireHold(session, entry("dead"))).isHeld, false);
    },
  },
  {
    title: "a turn that writes nothing leaves nothing, and one that writes leaves what it wrote",
    async check(context) {
      const { store, session } = context;
      const first = await taken(context, "a");
      assert.equal((await store.readView(session)).epoch, first.hold.epoch);
      await store.data.releaseHold(session, "a");
      assert.equal((await store.readView(session)).epoch, "");
      const second = await taken(context, "b");
      assert.notEqual(second.hold.epoch, first.hold.epoch);
      const { next, epoch } = await store.append(second, { records: [record("a")] });
      assert.deepEqual([next, epoch], [1, second.hold.epoch]);
      await store.data.releaseHold(session, "b");
      assert.equal((await store.readView(session)).next, 1);
    },
  },
  {
    title: "a turn that is taken and renewed keeps a session with a time to live from expiring",
    async check(context) {
      const { store, session, time, wait } = context;
      await store.append(session, { records: [record("a")], ttlMs: time(400) });
      const held = { ticket: "a", holdMs: time(5_000), ttlMs: time(400) };
      await store.data.acquireHold(session, { ...held, graceMs: time(1_000) });
      for (let count = 0; count < 5; count += 1) {
        await wait(120);
        assert.equal(await store.data.renewHold(session, held), true);
      }
      assert.equal((await store.readView(session)).next, 1);
    },
  },
  {
    title: "a session that only a turn created expires with its time to live",
    async check({ store, session, time, wait }) {
      await store.data.acquireHold(session, { ...entry("a"), ttlMs: time(40) });
      await wait(60);
      assert.equal((await store.readView(session)).epoch, "");
      assert.equal(await store.data.renewHold(session, { ticket: "a", holdMs: 1_000 }), false);
    },
  },
  {
    title: "an append takes the hold in the same step, and creates the session",
    async check(context) {
      const { store, session } = context;
      const { appended, place, epoch } = await store.append(session, { records: [record("q")], take: entry("a") });
      assert.ok(place?.isHeld && appended === 1 && place.hold.epoch === epoch);
      assert.deepEqual(await store.data.acquireHold(session, entry("b")), { isHeld: false, ahead: 0 });
      const held = { ...session, hold: place.hold };
      await store.append(held, { records: [record("a")] });
      assert.deepEqual(await taken(context, "a"), held);
    },
  },
  {
    title: "an append that has to wait for the hold adds nothing and keeps its place",
    async check(context) {
      const { store, session } = context;
      const { hold } = await taken(context, "a");
      await store.append({ ...session, hold }, { records: [record("x")] });
      const request = { records: [record("q")], take: entry("b") };
      const { appended, next, epoch, place } = await store.append(session, request);
      assert.deepEqual([appended, next, epoch, place], [0, 1, hold.epoch, { isHeld: false, ahead: 0 }]);
      assert.deepEqual(await store.data.acquireHold(session, entry("c")), { isHeld: false, ahead: 1 });
      await store.data.releaseHold(session, "a");
      assert.deepEqual(await store.data.acquireHold(session, entry("c")), { isHeld: false, ahead: 1 });
      const second = await store.append(session, request);
      assert.ok(second.appended === 1 && second.place?.isHeld && second.place.hold.token > hold.token);
    },
  },
  {
    title: "an append of an open turn takes the hold, and one of a turn that is done does not",
    async check({ store, session }) {
      const turn = { name: "oneTurn-123456", stored: 0, done: false };
      const request = { records: [record("q")], turn };
      await store.append(session, request);
      const open = await store.append(session, { records: [record("other")], turn, take: entry("a") });
      assert.ok(open.turn?.count === 1 && open.place?.isHeld);
      const waiting = await store.append(session, { records: [record("other")], turn, take: entry("b") });
      assert.deepEqual([waiting.turn, waiting.place], [undefined, { isHeld: false, ahead: 0 }]);
      const held = { ...session, hold: open.place.hold };
      await store.append(held, { records: [record("a")], turn: { ...turn, stored: 1, done: true } });
      const done = await store.append(session, { records: [record("other")], turn, take: entry("b") });
      assert.deepEqual([done.turn?.done, done.place], [true, undefined]);
    },
  },
  {
    title: "an append gives the hold back in the same step, unless its turn is stored",
    async check(context) {
      const { store, session } = context;
      const turn = { name: "oneTurn-123456", stored: 0, done: true };
      await store.append(session, { records: [record("q")], turn });
      const held = await taken(context, "a");
      await store.append(held, { records: [record("other")], turn, release: "a" });
      assert.equal((await store.data.acquireHold(session, entry("b"))).isHeld, false);
      await store.append(held, { records: [record("r")], release: "other" });
      assert.equal((await store.data.acquireHold(session, entry("b"))).isHeld, false);
      await store.append(held, { records: [record("s")], release: "a" });
      await taken(context, "b");
    },
  },
  {
    title: "a read takes the hold in the same step, unless its turn is done; where it has to wait, it shows nothing",
    async check(context) {
      const { store, session } = context;
      const turn = { name: "oneTurn-123456", stored: 0, done: true };
      const first = await store.readView(session, { take: entry("a") });
      assert.ok(first.place?.isHeld && first.epoch === first.place.hold.epoch && first.records.length === 0);
      await store.append({ ...session, hold: first.place.hold }, { records: [record("q")], turn });
      const waiting = await store.readView(session, { take: entry("b") });
      assert.deepEqual([waiting.records, waiting.place], [[], { isHeld: false, ahead: 0 }]);
      const done = await store.readView(session, { take: entry("b"), turn: turn.name, ids: ["q"] });
      assert.deepEqual([done.records.length, done.place, done.turn?.done, done.positions], [1, undefined, true, [0]]);
      await store.data.releaseHold(session, "a");
      const second = await store.readView(session, { take: entry("b"), turn: "another-123456" });
      assert.ok(second.place?.isHeld && second.records.length === 1 && second.turn === undefined);
    },
  },
];
