import { strict as assert } from "node:assert";
import type { CopyPage, CreateRequest, NewState } from "../../src/store/contract/session-data.js";
import type { NewRecord } from "../../src/store/contract/session-writes.js";
import { reductionsOf, asRead, code, human, option, record, records, texts, written } from "./store-case.js";
import { walk } from "./list-cases.js";
import type { StoreCase } from "./store-case.js";

const turnName = "turn-name-0001";

const plainState: NewState = {
  ...{ start: 0, head: "", headCount: 0, label: {}, hasLabel: false },
  ...{ reductions: [], reduced: 0, side: {} },
};

/** A state with each of its parts, but for its expiry. */
export const wholeState: Required<Omit<NewState, "knownIds" | "expiresAt">> = {
  ...{ start: 7, rounds: 3, head: "h", headCount: 2, tokens: 9, counter: "c", side: { f: "x" } },
  ...{ owner: "ann", label: { title: "T", metadata: "{}" }, hasLabel: true, createdAt: 5, updatedAt: 6 },
  ...{ usage: [{ model: "m", input: 1, output: 2, total: 3 }], reduced: 1 },
  reductions: [{ at: 5, start: 7, head: 2, before: { messages: 7 }, after: { messages: 4, tokens: 9 } }],
};

/** A session of a state and records, in pages of two. */
export function creating(
  { base = 0, ...state }: Partial<NewState> & { readonly base?: number },
  list: readonly NewRecord[],
): CreateRequest {
  return {
    base,
    pages: async function* (): AsyncGenerator<CopyPage> {
      for (let first = 0; first < list.length; first += 2) {
        const page = list.slice(first, first + 2);
        const records = page.map(({ id, digest, record }) => ({ record, identity: { id, digest } }));
        yield { records, turns: first === 0 ? [{ name: turnName, count: 3, first: base }] : [] };
      }
    },
    finish: async () => ({ ...plainState, ...state }),
    ...(state.owner !== undefined && { owners: [state.owner] }),
  };
}

/** Whole sessions out and in. */
export const copyCases: readonly StoreCase[] = [
  {
    title: "a session that is created has the state, the records, their ids and its turns, and lives on",
    async check({ store, session: { id } }) {
      const session = { id, owner: "ann" };
      const list = [human("q1"), record("a1"), record("a2"), human("q2"), record("a3")];
      const created = await store.copies.create(session, creating({ base: 4, ...wholeState }, list));
      const view = await store.readView(session);
      assert.deepEqual(created, { epoch: view.epoch, next: 9 });
      assert.deepEqual([view.base, view.start, view.head, view.headCount, view.damaged], [4, 7, "h", 2, false]);
      assert.deepEqual(view.records, texts(list.slice(3)));
      const read = (await store.copies.read(session))!;
      const names = Object.keys(wholeState) as (keyof typeof wholeState)[];
      assert.deepEqual(Object.fromEntries(names.map((name) => [name, read[name]])), wholeState);
      const marks = await store.copies.readMarks(session, { turns: [turnName, "turn-name-0009"], ids: ["a3", "a4"] });
      assert.deepEqual(marks.turns, [{ done: false, count: 3, first: 4 }, undefined]);
      assert.equal(marks.digests[1], undefined);
      assert.equal(typeof marks.digests[0], "string");
      const more = await store.append(session, { records: [list[4]!, record("a4")] });
      assert.deepEqual([more.appended, more.duplicates, more.next], [1, 1, 10]);
    },
  },
  {
    title: "the state of a session is all that is kept about it besides its log",
    async check(context) {
      const { store, session } = context;
      const label = { title: "T", metadata: "{}" };
      const view = await written(context, records("a", 4), { as: { owner: "ann", label }, side: { set: { f: "x" } } });
      await store.commitReduction(session, { ...asRead(view), start: 2, head: "h", headCount: 1 });
      const state = (await store.copies.read({ ...session, owner: "ann" }))!;
      assert.deepEqual([state.epoch, state.base, state.start, state.next], [view.epoch, 0, 2, 4]);
      assert.deepEqual([state.owner, state.label, state.hasLabel, state.side], ["ann", label, true, { f: "x" }]);
      assert.deepEqual(state.reductions, await reductionsOf(store, session));
      assert.equal(state.reduced, 1);
      await assert.rejects(store.copies.read({ ...session, owner: "bob" }), code("other_owner"));
      await assert.rejects(
        store.copies.readMarks({ ...session, owner: "bob" }, { turns: [turnName] }),
        code("other_owner"),
      );
      assert.equal(await store.copies.read({ id: `${session.id}-none` }), undefined);
    },
  },
  {
    title: "a session is created whole or not at all, and never in the place of another",
    async check(context) {
      const { store, session } = context;
      const broken = creating({}, records("a", 3));
      const pages = async function* () {
        yield* broken.pages();
        throw new Error("The pages end here.");
      };
      await assert.rejects(store.copies.create(session, { ...broken, pages }), /end here/);
      assert.equal((await store.readView(session)).epoch, "");
      await assert.rejects(store.copies.create(session, creating({ start: 3 }, records("a", 2))), option("start"));
      assert.equal((await store.readView(session)).epoch, "");
      const view = await written(context, records("b", 1));
      await assert.rejects(store.copies.create(session, creating({}, records("a", 3))), code("exists"));
      assert.deepEqual(await store.readView(session), view);
    },
  },
  {
    title: "a session whose source is not as it was is not created, and its id stays free",
    async check({ store, session }) {
      const list = records("a", 3);
      const request = { ...creating({}, list), finish: async () => undefined };
      assert.equal(await store.copies.create(session, request), undefined);
      assert.equal((await store.readView(session)).epoch, "");
      const { next } = (await store.copies.create(session, creating({}, list)))!;
      assert.equal(next, 3);
    },
  },
  {
    title: "an owner who is erased while a session is created for them gets none",
    async check({ store, session }) {
      const [ann, bob] = [`${session.id}-ann`, `${session.id}-bob`];
      for (const erased of [ann, bob]) {
        const id = `${session.id}-of-${erased}`;
        const { finish, ...rest } = creating({ owner: bob }, records("a", 3));
        const created = store.copies.create(
          { id },
          {
            ...rest,
            owners: [ann, bob],
            finish: async (next) => {
              await store.lists.eraseOwners({ owners: [erased], unlisted: true, guardMs: 60_000 });
              return finish(next);
            },
          },
        );
        await assert.rejects(created, code("erased"));
        assert.equal((await store.readView({ id })).epoch, "");
      }
    },
  },
  {
    title: "a session that is created stands in its owner's list by the time of its last write, until the next one",
    async check({ store, session }) {
      const owner = `owner of ${session.id}`;
      const list = async () => {
        await store.lists.flush();
        const found = (await walk({ store }, owner, 1)).flat();
        return found.map((sessionId) => sessionId.slice(session.id.length));
      };
      await store.append({ id: `${session.id}-now`, owner }, { records: records("n", 1) });
      const { updatedAt } = (await store.lists.describe({ id: `${session.id}-now` }))!;
      const create = (name: string, at: number) =>
        store.copies.create({ id: `${session.id}-${name}` }, creating({ owner, updatedAt: at }, records(name, 1)));
      await create("never", 0);
      await create("old-1", updatedAt - 5_000);
      await create("old-2", updatedAt - 5_000);
      await create("older", updatedAt - 9_000);
      await create("future", updatedAt + 1e12);
      const [first, second, ...rest] = await list();
      assert.deepEqual([first, second], ["-future", "-now"]);
      assert.deepEqual(rest.slice(0, 2).sort(), ["-old-1", "-old-2"]);
      assert.deepEqual(rest.slice(2), ["-older", "-never"]);
      await store.append({ id: `${session.id}-older`, owner }, { records: records("m", 1) });
      assert.deepEqual((await list()).slice(0, 3), ["-older", "-future", "-now"]);
    },
  },
  {
    title: "sessions of one last write are each listed once, page by page",
    async check({ store, session }) {
      const owner = `owner of ${session.id}`;
      const ids = Array.from({ length: 7 }, (_, index) => `${session.id} ${"abcdefg"[index]!}`);
      for (const id of ids) {
        await store.copies.create({ id }, creating({ owner, updatedAt: 5_000 }, records(id, 1)));
      }
      for (const limit of [1, 2, 3, 7]) {
        assert.deepEqual((await walk({ store }, owner, limit)).flat(), [...ids].reverse());
      }
    },
  },
  {
    title: "a session that is created expires when its state says so",
    async check({ store, session, wait }) {
      await store.append({ id: `${session.id}-clock` }, { records: records("c", 1) });
      const now = (await store.copies.read({ id: `${session.id}-clock` }))!.updatedAt!;
      await store.copies.create(session, creating({ expiresAt: now + 600_000 }, records("a", 2)));
      const { expiresAt = 0 } = (await store.copies.read(session))!;
      // Redis says how long a session lives, not until when.
      assert.ok(Math.abs(expiresAt - now - 600_000) < 100_000, `It expires at ${expiresAt - now}.`);
      await wait(20);
      await store.copies.create({ id: `${session.id}-over` }, creating({ expiresAt: now + 1 }, records("a", 2)));
      assert.equal((await store.readView({ id: `${session.id}-over` })).epoch, "");
    },
  },
];
