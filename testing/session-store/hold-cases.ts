import { strict as assert } from "node:assert";
import type { SessionHold, SessionRef } from "../../src/store/session-ref.js";
import { option, record, type StoreCase, type StoreContext } from "./store-case.js";

const needs = ["beside"] as const;
const entry = (ticket: string, holdMs = 60_000) => ({ ticket, holdMs, graceMs: 60_000 });

/** A session in the hold of a turn. */
type HeldSession = SessionRef & { readonly hold: Required<SessionHold> };

/** Takes the turn, which must be free, and returns the session as its writes name it. */
export async function taken({ store, session }: StoreContext, ticket: string, holdMs?: number): Promise<HeldSession> {
  const place = await store.beside.takeHold(session, entry(ticket, holdMs));
  assert.ok(place.isHeld);
  return { ...session, hold: place.hold };
}

/** One turn of a session at a time. */
export const holdCases: readonly StoreCase[] = [
  {
    title: "a turn has one holder, and waiters get it in the order in which they came",
    needs,
    async check(context) {
      const { store, session } = context;
      const { beside } = store;
      const first = await taken(context, "a");
      assert.deepEqual(await beside.takeHold(session, entry("b")), { isHeld: false, ahead: 0 });
      assert.deepEqual(await beside.takeHold(session, entry("c")), { isHeld: false, ahead: 1 });
      assert.deepEqual(await beside.takeHold(session, entry("b")), { isHeld: false, ahead: 0 });
      await beside.giveBackHold(session, "a");
      assert.deepEqual(await beside.takeHold(session, entry("c")), { isHeld: false, ahead: 1 });
      const second = await taken(context, "b");
      assert.ok(second.hold.token > first.hold.token);
      assert.equal(second.hold.epoch, first.hold.epoch);
      await beside.giveBackHold(session, "b");
      await taken(context, "c");
    },
  },
  {
    title: "a repeated request for the turn finds itself the holder, with the same fence",
    needs,
    async check(context) {
      const held = await taken(context, "a");
      assert.deepEqual(await taken(context, "a"), held);
      await context.store.append(held, { records: [record("a")] });
    },
  },
  {
    title: "a turn ends after its time, unless its holder renews it",
    needs,
    async check(context) {
      const { store, session, time, wait } = context;
      await taken(context, "a", time(1_000));
      assert.equal(await store.beside.renewHold(session, { ticket: "a", holdMs: time(60) }), true);
      assert.equal((await store.beside.takeHold(session, entry("b"))).isHeld, false);
      await wait(90);
      await taken(context, "b");
      assert.equal(await store.beside.renewHold(session, { ticket: "a", holdMs: 1_000 }), false);
      await store.beside.giveBackHold(session, "a");
      assert.equal((await store.beside.takeHold(session, entry("c"))).isHeld, false);
    },
  },
  {
    title: "a waiter that leaves, or that is not seen for its grace, loses its place",
    needs,
    async check(context) {
      const { store, session, time, wait } = context;
      const { beside } = store;
      await taken(context, "a");
      await beside.takeHold(session, entry("left"));
      await beside.takeHold(session, entry("dead"));
      await beside.giveBackHold(session, "left");
      await beside.giveBackHold(session, "a");
      await wait(60);
      assert.deepEqual(await beside.takeHold(session, entry("b")), { isHeld: false, ahead: 1 });
      assert.equal((await beside.takeHold(session, { ...entry("b"), graceMs: time(30) })).isHeld, true);
      assert.equal((await beside.takeHold(session, entry("dead"))).isHeld, false);
    },
  },
  {
    title: "a turn that writes nothing leaves nothing, and one that writes leaves what it wrote",
    needs,
    async check(context) {
      const { store, session } = context;
      const first = await taken(context, "a");
      assert.equal((await store.readView(session)).epoch, first.hold.epoch);
      await store.beside.giveBackHold(session, "a");
      assert.equal((await store.readView(session)).epoch, "");
      const second = await taken(context, "b");
      assert.notEqual(second.hold.epoch, first.hold.epoch);
      const { next, epoch } = await store.append(second, { records: [record("a")] });
      assert.deepEqual([next, epoch], [1, second.hold.epoch]);
      await store.beside.giveBackHold(session, "b");
      assert.equal((await store.readView(session)).next, 1);
    },
  },
  {
    title: "a turn that is taken and renewed keeps a session with a time to live from expiring",
    needs,
    async check(context) {
      const { store, session, time, wait } = context;
      await store.append(session, { records: [record("a")], ttlMs: time(400) });
      const held = { ticket: "a", holdMs: time(5_000), ttlMs: time(400) };
      await store.beside.takeHold(session, { ...held, graceMs: time(1_000) });
      for (let count = 0; count < 5; count += 1) {
        await wait(120);
        assert.equal(await store.beside.renewHold(session, held), true);
      }
      assert.equal((await store.readView(session)).next, 1);
    },
  },
  {
    title: "a session that only a turn created expires with its time to live",
    needs,
    async check({ store, session, time, wait }) {
      await store.beside.takeHold(session, { ...entry("a"), ttlMs: time(40) });
      await wait(60);
      assert.equal((await store.readView(session)).epoch, "");
      assert.equal(await store.beside.renewHold(session, { ticket: "a", holdMs: 1_000 }), false);
    },
  },
  {
    title: "a ticket or a time of a turn that is none is refused",
    needs,
    async check({ store: { beside }, session }) {
      for (const bad of ["", "a b", "a".repeat(65), 7 as unknown as string]) {
        await assert.rejects(beside.takeHold(session, entry(bad)), option("ticket"));
      }
      for (const bad of [0, -1, 1.5, Number.NaN]) {
        await assert.rejects(beside.takeHold(session, entry("a", bad)), option("holdMs"));
        await assert.rejects(beside.renewHold(session, { ticket: "a", holdMs: bad }), option("holdMs"));
        await assert.rejects(beside.takeHold(session, { ...entry("a"), graceMs: bad }), option("graceMs"));
        await assert.rejects(beside.takeHold(session, { ...entry("a"), ttlMs: bad }), option("ttlMs"));
      }
    },
  },
];
