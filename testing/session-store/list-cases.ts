import { readLog } from "../../src/store/contract/session-data.js";
import { strict as assert } from "node:assert";
import { code, records, type StoreCase, type StoreContext } from "./store-case.js";
import type { ListPlace } from "../../src/store/contract/session-ref.js";

/** The ids in an owner's list, page by page. */
export async function walk({ store }: Pick<StoreContext, "store">, owner: string, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  let before: ListPlace | undefined;
  do {
    const { sessions, next } = await store.lists.list(owner, { limit, ...(before !== undefined && { before }) });
    pages.push(sessions.map(({ sessionId }) => sessionId));
    before = next;
  } while (before !== undefined);
  return pages;
}

/** Sessions of an owner, written one after the other. */
async function writeSessions({ store, session }: StoreContext, owner: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${session.id}-${owner}-${index}`);
  for (const id of ids) {
    await store.append({ id, owner }, { records: records("a", 1) });
    await store.lists.flush();
  }
  return ids;
}

/** Lists of sessions by owner, and erasure. */
export const listCases: readonly StoreCase[] = [
  {
    title: "an owner's sessions are listed newest first, page by page, each once",
    async check(context) {
      const ids = await writeSessions(context, "ann", 5);
      await writeSessions(context, "bob", 1);
      const newest = [...ids].reverse();
      assert.deepEqual((await walk(context, "ann", 100)).flat(), newest);
      const pages = await walk(context, "ann", 2);
      assert.deepEqual(pages.flat(), newest);
      assert.deepEqual(
        pages.map((page) => page.length),
        [2, 2, 1],
      );
      assert.equal(await context.store.lists.count("ann"), 5);
      assert.deepEqual(await walk(context, "nobody", 2), [[]]);
      assert.equal(await context.store.lists.count("nobody"), 0);
    },
  },
  {
    title: "a session that is written during a walk moves to the front and is not listed twice",
    async check(context) {
      const { store } = context;
      const [first, ...others] = await writeSessions(context, "ann", 4);
      const { sessions, next } = await store.lists.list("ann", { limit: 2 });
      await store.append({ id: others[2]!, owner: "ann" }, { records: records("b", 1) });
      await store.append({ id: first! }, { records: records("b", 1) });
      await store.lists.flush();
      const rest = await store.lists.list("ann", { limit: 10, before: next! });
      const seen = [...sessions, ...rest.sessions].map(({ sessionId }) => sessionId);
      assert.equal(new Set(seen).size, seen.length);
      const front = await store.lists.list("ann", { limit: 2 });
      assert.deepEqual(new Set(front.sessions.map(({ sessionId }) => sessionId)), new Set([first, others[2]]));
    },
  },
  {
    title: "a list shows label, sizes and times of each session",
    async check({ store, session }) {
      const label = { title: "é👍\n", metadata: '{"a":1}' };
      await store.append({ ...session, owner: "ann", label }, { records: records("a", 3), ttlMs: 60_000 });
      await store.lists.flush();
      const { sessions } = await store.lists.list("ann", { limit: 1 });
      const { createdAt, updatedAt, expiresAt, ...rest } = sessions[0]!;
      assert.deepEqual(rest, { sessionId: session.id, label, messages: 3, rounds: 0 });
      assert.ok(createdAt >= 0 && updatedAt >= createdAt && expiresAt! > updatedAt);
    },
  },
  {
    title: "a rename shows in lists, and leaves the session in its place",
    async check(context) {
      const { store } = context;
      const ids = await writeSessions(context, "ann", 3);
      await store.lists.relabel({ id: ids[0]! }, { label: { title: "new" }, version: "" });
      await store.lists.flush();
      const { sessions } = await store.lists.list("ann", { limit: 3 });
      assert.deepEqual(
        sessions.map(({ sessionId, label }) => [sessionId, label.title]),
        [
          [ids[2], undefined],
          [ids[1], undefined],
          [ids[0], "new"],
        ],
      );
    },
  },
  {
    title: "sessions past their expiry are not listed; the count is never too low",
    async check(context) {
      const { store, session, time, wait } = context;
      await store.append({ id: `${session.id}-short`, owner: "ann" }, { records: records("a", 1), ttlMs: time(400) });
      await store.append({ id: `${session.id}-long`, owner: "ann" }, { records: records("a", 1), ttlMs: time(60_000) });
      await store.append({ id: `${session.id}-ever`, owner: "ann" }, { records: records("a", 1) });
      await store.lists.flush();
      await wait(500);
      assert.ok((await store.lists.count("ann")) >= 2);
      assert.deepEqual((await walk(context, "ann", 1)).flat(), [`${session.id}-ever`, `${session.id}-long`]);
    },
  },
  {
    title: "a session that was cleared leaves the list, and returns when it is written again",
    async check(context) {
      const { store, session } = context;
      await store.append({ ...session, owner: "ann" }, { records: records("a", 1) });
      await store.clear(session);
      await store.lists.flush();
      assert.deepEqual((await walk(context, "ann", 9)).flat(), []);
      await store.append({ ...session, owner: "bob" }, { records: records("a", 1) });
      await store.lists.flush();
      assert.deepEqual((await walk(context, "ann", 9)).flat(), []);
      assert.deepEqual((await walk(context, "bob", 9)).flat(), [session.id]);
    },
  },
  {
    title: "an erased session is gone for reads, and its guard refuses writers",
    async check(context) {
      const { store, session } = context;
      await store.append({ ...session, owner: "ann" }, { records: records("a", 2) });
      assert.equal(await store.lists.erase(session, { guardMs: 60_000 }), true);
      assert.equal((await store.readView(session)).epoch, "");
      assert.equal((await store.readView(session)).damaged, false);
      assert.deepEqual((await readLog(store, session)).records, []);
      assert.equal(await store.lists.describe(session), undefined);
      for (const claim of [{}, { owner: "ann" }, { owner: "bob" }]) {
        const caller = { ...session, ...claim };
        await assert.rejects(store.append(caller, { records: records("b", 1) }), code("erased"));
        await assert.rejects(store.data.writeSide(caller, { set: { f: "1" } }), code("erased"));
      }
      await store.clear(session);
      await assert.rejects(store.append(session, { records: records("b", 1) }), code("erased"));
      await store.lists.flush();
      assert.equal((await store.lists.count("ann")) + (await store.lists.count("bob")), 0);
    },
  },
  {
    title: "an erased session can begin anew when its guard has passed",
    async check({ store, session, time, wait }) {
      await store.append({ ...session, owner: "ann" }, { records: records("a", 2) });
      await store.lists.erase(session, { guardMs: time(300) });
      await wait(400);
      assert.equal((await store.append({ ...session, owner: "bob" }, { records: records("b", 1) })).next, 1);
    },
  },
  {
    title: "erasing a session that does not exist says so, and guards it too",
    async check({ store, session }) {
      assert.equal(await store.lists.erase({ ...session, owner: "ann" }, { guardMs: 60_000 }), false);
      await assert.rejects(store.append(session, { records: records("b", 1) }), code("erased"));
    },
  },
  {
    title: "erasing an owner removes all of its sessions and no others, and lets it begin anew",
    async check(context) {
      const { store, session } = context;
      const ids = await writeSessions(context, "ann", 3);
      const [other] = await writeSessions(context, "bob", 1);
      await store.append({ id: `${session.id}-free` }, { records: records("a", 1) });
      const progress: number[] = [];
      const onProgress = ({ sessions }: { sessions: number }) => void progress.push(sessions);
      assert.equal(await store.lists.eraseOwners({ owners: ["ann"], unlisted: true, guardMs: 60_000, onProgress }), 3);
      assert.equal(progress.at(-1), 3);
      for (const id of ids) {
        assert.equal((await store.readView({ id })).epoch, "");
        await assert.rejects(store.append({ id }, { records: records("b", 1) }), code("erased"));
      }
      assert.deepEqual((await walk(context, "ann", 9)).flat(), []);
      assert.deepEqual((await walk(context, "bob", 9)).flat(), [other]);
      assert.equal((await store.readView({ id: `${session.id}-free` })).next, 1);
      await store.append({ id: `${session.id}-new`, owner: "ann" }, { records: records("a", 1) });
      await store.lists.flush();
      assert.deepEqual((await walk(context, "ann", 9)).flat(), [`${session.id}-new`]);
      assert.equal(await store.lists.eraseOwners({ owners: ["nobody"], unlisted: true, guardMs: 60_000 }), 0);
    },
  },
  {
    title: "all sessions, and those of an owner, are found by looking through everything",
    async check(context) {
      const { store, session } = context;
      const ids = await writeSessions(context, "ann", 2);
      await store.append({ id: `${session.id} %{}:é` }, { records: records("a", 1) });
      const all: string[] = [];
      for await (const id of store.lists.scan()) {
        all.push(id);
      }
      assert.deepEqual(all.sort(), [...ids, `${session.id} %{}:é`].sort());
      const own: string[] = [];
      for await (const id of store.lists.scan({ owner: "ann" })) {
        own.push(id);
      }
      assert.deepEqual(own.sort(), ids);
      await store.lists.reindex();
      assert.deepEqual((await walk(context, "ann", 9)).flat(), [...ids].reverse());
    },
  },
];
