import { strict as assert } from "node:assert";
import { code, record, type StoreCase, type StoreContext } from "./store-case.js";

async function expiryOf({ store, session }: StoreContext): Promise<number> {
  return (await store.lists.describe(session))!.expiresAt!;
}

/**
 * A script reads the clock and the key's expiry one after the other, and a busy machine may pause it between.
 * The lives that the cases tell apart are a minute from each other.
 */
const betweenReadings = 20_000;

/** The list names the session, with its expiry. */
async function assertListed(context: StoreContext, owner: string): Promise<void> {
  const { sessions } = await context.store.lists.list(owner, { limit: 5 });
  assert.equal(sessions.length, 1);
  assert.ok(Math.abs(sessions[0]!.expiresAt! - (await expiryOf(context))) <= betweenReadings);
}

/** Sessions that live longer because they are read, or because a turn holds them. */
export const expiryCases: readonly StoreCase[] = [
  {
    title: "a session whose life is extended lives on; one that is not to expire stays so",
    async check({ store, session, time, wait }) {
      await store.append(session, { records: [record("a")], ttlMs: time(400) });
      await wait(250);
      assert.equal(await store.data.extendExpiry(session, time(60_000)), true);
      await wait(250);
      assert.equal((await store.readView(session)).next, 1);
      const lasting = `${session.id}-lasting`;
      await store.append({ id: lasting }, { records: [record("a")] });
      assert.equal(await store.data.extendExpiry({ id: lasting }, time(50)), false);
      await wait(80);
      assert.equal((await store.readView({ id: lasting })).next, 1);
      assert.equal(await store.data.extendExpiry({ id: `${session.id}-missing` }, time(60_000)), false);
      assert.equal((await store.readView({ id: `${session.id}-missing` })).epoch, "");
    },
  },
  {
    title: "the list follows a session whose life is extended, and another owner cannot extend it",
    async check(context) {
      const { store, session, time, wait } = context;
      const owner = `${session.id}-ann`;
      await store.append({ ...session, owner }, { records: [record("a")], ttlMs: time(400) });
      await store.lists.flush();
      const before = await expiryOf(context);
      await assert.rejects(store.data.extendExpiry({ ...session, owner: "bob" }, time(60_000)), code("other_owner"));
      assert.ok(Math.abs((await expiryOf(context)) - before) <= betweenReadings);
      assert.equal(await store.data.extendExpiry({ ...session, owner }, time(60_000)), true);
      await store.lists.flush();
      await wait(500);
      await assertListed(context, owner);
      assert.equal(await store.lists.count(owner), 1);
    },
  },
  {
    title: "the guard of an erased session is not prolonged",
    async check({ store, session, time, wait }) {
      await store.lists.erase(session, { guardMs: time(200) });
      assert.equal(await store.data.extendExpiry(session, time(60_000)), false);
      await wait(260);
      await store.append(session, { records: [record("a")] });
    },
  },
  {
    title: "the list follows a session that its turn keeps alive",
    async check(context) {
      const { store, session, time, wait } = context;
      const owner = `${session.id}-ann`;
      await store.append({ ...session, owner }, { records: [record("a")], ttlMs: time(400) });
      const held = { ticket: "a", holdMs: time(5_000), ttlMs: time(60_000) };
      await store.data.acquireHold({ ...session, owner }, { ...held, graceMs: time(1_000) });
      await store.lists.flush();
      await wait(500);
      await assertListed(context, owner);
    },
  },
  {
    title: "a turn is refused to another owner, to take and to clear with, and a session that it cleared is not listed",
    async check(context) {
      const { store, session } = context;
      const [owner, bob] = [`${session.id}-ann`, `${session.id}-bob`];
      await store.append({ ...session, owner }, { records: [record("a")] });
      const entry = { ticket: "a", holdMs: 60_000, graceMs: 60_000 };
      await assert.rejects(store.data.acquireHold({ ...session, owner: bob }, entry), code("other_owner"));
      const place = await store.data.acquireHold({ ...session, owner }, entry);
      assert.ok(place.isHeld);
      const held = { ...session, hold: place.hold };
      await assert.rejects(store.clear({ ...held, owner: bob }), code("other_owner"));
      await assert.rejects(store.clear({ ...session, owner: bob }), code("other_owner"));
      assert.equal((await store.readView(session)).next, 1);
      await store.clear({ ...held, owner });
      await store.lists.flush();
      assert.deepEqual(await store.lists.list(owner, { limit: 5 }), { sessions: [] });
      await store.lists.erase(session, { guardMs: 60_000 });
      await assert.rejects(store.clear(held), code("erased"));
    },
  },
];
