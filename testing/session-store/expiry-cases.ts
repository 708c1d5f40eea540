import { strict as assert } from "node:assert";
import { code, option, record, type StoreCase, type StoreContext } from "./store-case.js";

const needs = ["expiry"] as const;

async function expiryOf({ store, session }: StoreContext): Promise<number> {
  return (await store.index.describe(session))!.expiresAt!;
}

/** The list names the session, with its expiry; two readings of that may differ by their rounding. */
async function assertListed(context: StoreContext, owner: string): Promise<void> {
  const { sessions } = await context.store.index.list(owner, { limit: 5 });
  assert.equal(sessions.length, 1);
  assert.ok(Math.abs(sessions[0]!.expiresAt! - (await expiryOf(context))) <= 2);
}

/** Sessions that live longer because they are read, or because a turn holds them. */
export const expiryCases: readonly StoreCase[] = [
  {
    title: "a session whose life is extended lives on; one that is not to expire stays so",
    needs,
    async check({ store, session, time, wait }) {
      await store.append(session, { records: [record("a")], ttlMs: time(400) });
      await wait(250);
      assert.equal(await store.extendExpiry(session, time(60_000)), true);
      await wait(250);
      assert.equal((await store.readView(session)).next, 1);
      const lasting = `${session.id}-lasting`;
      await store.append({ id: lasting }, { records: [record("a")] });
      assert.equal(await store.extendExpiry({ id: lasting }, time(50)), false);
      await wait(80);
      assert.equal((await store.readView({ id: lasting })).next, 1);
      assert.equal(await store.extendExpiry({ id: `${session.id}-missing` }, time(60_000)), false);
      assert.equal((await store.readView({ id: `${session.id}-missing` })).epoch, "");
    },
  },
  {
    title: "the list follows a session whose life is extended, and another owner cannot extend it",
    needs: ["expiry", "index"],
    async check(context) {
      const { store, session, time, wait } = context;
      const owner = `${session.id}-ann`;
      await store.append({ ...session, owner }, { records: [record("a")], ttlMs: time(400) });
      await store.index.flush();
      const before = await expiryOf(context);
      await assert.rejects(store.extendExpiry({ ...session, owner: "bob" }, time(60_000)), code("other_owner"));
      assert.ok(Math.abs((await expiryOf(context)) - before) <= 2);
      assert.equal(await store.extendExpiry({ ...session, owner }, time(60_000)), true);
      await store.index.flush();
      await wait(500);
      await assertListed(context, owner);
      assert.equal(await store.index.count(owner), 1);
    },
  },
  {
    title: "the guard of an erased session is not prolonged",
    needs: ["expiry", "index"],
    async check({ store, session, time, wait }) {
      await store.index.erase(session, { guardMs: time(200) });
      assert.equal(await store.extendExpiry(session, time(60_000)), false);
      await wait(260);
      await store.append(session, { records: [record("a")] });
    },
  },
  {
    title: "a time to live that is none is refused",
    needs,
    async check({ store, session }) {
      for (const ttlMs of [0, -1, 1.5, Number.NaN]) {
        await assert.rejects(store.extendExpiry(session, ttlMs), option("ttlMs"));
      }
    },
  },
  {
    title: "the list follows a session that its turn keeps alive",
    needs: ["turnQueue", "index"],
    async check(context) {
      const { store, session, time, wait } = context;
      const owner = `${session.id}-ann`;
      await store.append({ ...session, owner }, { records: [record("a")], ttlMs: time(400) });
      const held = { ticket: "a", holdMs: time(5_000), ttlMs: time(60_000) };
      await store.turnQueue.enter({ ...session, owner }, { ...held, graceMs: time(1_000) });
      await store.index.flush();
      await wait(500);
      await assertListed(context, owner);
    },
  },
  {
    title: "a turn is refused to another owner, to take and to clear with, and a session that it cleared is not listed",
    needs: ["turnQueue", "index"],
    async check(context) {
      const { store, session } = context;
      const [owner, bob] = [`${session.id}-ann`, `${session.id}-bob`];
      await store.append({ ...session, owner }, { records: [record("a")] });
      const entry = { ticket: "a", holdMs: 60_000, graceMs: 60_000 };
      await assert.rejects(store.turnQueue.enter({ ...session, owner: bob }, entry), code("other_owner"));
      const place = await store.turnQueue.enter({ ...session, owner }, entry);
      assert.ok(place.isHeld);
      const held = { ...session, hold: place.hold };
      await assert.rejects(store.turnQueue.restart({ ...held, owner: bob }), code("other_owner"));
      assert.equal((await store.readView(session)).next, 1);
      await store.turnQueue.restart({ ...held, owner });
      await store.index.flush();
      assert.deepEqual(
        [await store.index.list(owner, { limit: 5 }), await store.index.count(owner)],
        [{ sessions: [] }, 0],
      );
      await store.index.erase(session, { guardMs: 60_000 });
      await assert.rejects(store.turnQueue.restart(held), code("erased"));
    },
  },
];
