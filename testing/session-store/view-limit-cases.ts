import { strict as assert } from "node:assert";
import { asRead, record, records, written, type StoreCase } from "./store-case.js";

const counted = (id: string, tokens: number) => record(id, { tokens });

/** The view in the reply of an append, and the token count that it goes by. */
export const viewLimitCases: readonly StoreCase[] = [
  {
    title: "an append that exceeds the message limit returns the view",
    async check({ store, session }) {
      const within = await store.append(session, { records: records("a", 3), viewLimit: { messages: 3 } });
      assert.equal(within.view, undefined);
      const above = await store.append(session, { records: records("b", 1), viewLimit: { messages: 3 } });
      assert.deepEqual(above.view, await store.readView(session));
    },
  },
  {
    title: "the limit counts messages of the head, but not those before the start",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.commitReduction(session, { ...asRead(view), start: 8, head: "h", headCount: 2 });
      const within = await store.append(session, { records: [record("b")], viewLimit: { messages: 5 } });
      assert.equal(within.view, undefined);
      const above = await store.append(session, { records: [record("c")], viewLimit: { messages: 5 } });
      assert.deepEqual([above.view?.start, above.view?.head, above.view?.records.length], [8, "h", 4]);
    },
  },
  {
    title: "the limit from the start on counts neither messages of the head nor those before the start",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 10));
      await store.commitReduction(session, { ...asRead(view), start: 8, head: "h", headCount: 8 });
      const within = await store.append(session, { records: [record("b")], viewLimit: { fromStart: 3 } });
      assert.equal(within.view, undefined);
      const above = await store.append(session, { records: [record("c")], viewLimit: { fromStart: 3 } });
      assert.deepEqual([above.view?.start, above.view?.head, above.view?.records.length], [8, "h", 4]);
    },
  },
  {
    title: "an append that exceeds the token limit returns the view",
    async check({ store, session }) {
      const within = await store.append(session, {
        records: [counted("a", 5), counted("b", 5)],
        counter: "c1",
        viewLimit: { tokens: 10 },
      });
      assert.equal(within.view, undefined);
      const above = await store.append(session, {
        records: [counted("c", 0.5)],
        counter: "c1",
        viewLimit: { tokens: 10 },
      });
      assert.deepEqual([above.view?.tokens, above.view?.counter], [10.5, "c1"]);
      assert.deepEqual(above.view, await store.readView(session));
    },
  },
  {
    title: "only records that were added are counted",
    async check(context) {
      const { store, session } = context;
      const turn = [counted("a", 3), counted("b", 4)];
      await store.append(session, { records: turn, counter: "c1" });
      await store.append(session, { records: [...turn, counted("c", 5)], counter: "c1" });
      const view = await written(context, [], { counter: "c2" });
      assert.deepEqual([view.tokens, view.counter], [12, "c1"]);
    },
  },
  {
    title: "after a record without a count, the total is unknown and the view is returned",
    async check({ store, session }) {
      await store.append(session, { records: [counted("a", 1)], counter: "c1" });
      const result = await store.append(session, {
        records: [counted("b", 1), record("c")],
        counter: "c1",
        viewLimit: { tokens: 1_000 },
      });
      assert.deepEqual([result.view?.tokens, result.view?.counter, result.view?.next], [undefined, "", 3]);
      const later = await store.append(session, {
        records: [counted("d", 1)],
        counter: "c1",
        viewLimit: { tokens: 1_000 },
      });
      assert.deepEqual([later.view?.tokens, later.view?.records.length], [undefined, 4]);
    },
  },
  {
    title: "the total of a session whose records are not counted is not known",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, [record("a")]);
      assert.deepEqual([view.tokens, view.counter], [undefined, ""]);
      const commit = { ...asRead(view), start: 0, head: "", headCount: 0 };
      for (const part of [{}, { tokens: 5 }, { counter: "c1" }]) {
        const { rev } = await store.readView(session);
        assert.equal(await store.commitReduction(session, { ...commit, rev, ...part }), "committed");
        const later = await store.readView(session);
        assert.deepEqual([later.tokens, later.counter], [undefined, ""]);
      }
    },
  },
  {
    title: "counts of another counter are not mixed in, and the view is returned",
    async check({ store, session }) {
      await store.append(session, { records: [counted("a", 1)], counter: "c1" });
      const asked = await store.append(session, { records: [], counter: "c2", viewLimit: { tokens: 1_000 } });
      assert.deepEqual([asked.view?.tokens, asked.view?.counter], [1, "c1"]);
      const added = await store.append(session, {
        records: [counted("b", 1)],
        counter: "c2",
        viewLimit: { tokens: 1_000 },
      });
      assert.deepEqual([added.view?.tokens, added.view?.counter], [undefined, ""]);
    },
  },
  {
    title: "a committed count replaces the old one, and later records are added to it",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, [counted("a", 50), counted("b", 50), record("c")], { counter: "c1" });
      const commit = { ...asRead(view), start: 2, head: "h", headCount: 1, tokens: 30, counter: "c1" };
      assert.equal(await store.commitReduction(session, commit), "committed");
      const later = await written(context, [counted("d", 7)], { counter: "c1" });
      assert.deepEqual([later.tokens, later.counter], [37, "c1"]);
    },
  },
  {
    title: "records appended during a reduction are counted when it is committed",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, [counted("a", 50), counted("b", 20)], { counter: "c1" });
      await store.append(session, { records: [counted("c", 7)], counter: "c1" });
      const commit = { ...asRead(view), start: 1, head: "", headCount: 0, tokens: 20, counter: "c1" };
      assert.equal(await store.commitReduction(session, { ...commit, tokensRead: view.tokens! }), "committed");
      assert.equal((await store.readView(session)).tokens, 27);
    },
  },
  {
    title: "a commit that cannot know the counts of newer records leaves the total unknown",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, [counted("a", 50)], { counter: "c1" });
      await store.append(session, { records: [counted("b", 7)], counter: "c1" });
      const commit = { ...asRead(view), start: 1, head: "h", headCount: 1, tokens: 20, counter: "c1" };
      assert.equal(await store.commitReduction(session, commit), "committed");
      const later = await store.readView(session);
      assert.deepEqual([later.tokens, later.counter], [undefined, ""]);
    },
  },
  {
    title: "a commit leaves the total unknown where records were appended since that its counter did not count",
    async check(context) {
      const { store, session } = context;
      for (const [counter, id, since] of [
        ["c2", "b", "c1"],
        ["c1", "c", undefined],
      ] as const) {
        const view = await written(context, [counted(`${id}1`, 50)], { counter: "c1" });
        const known = {
          ...asRead(view),
          start: view.next,
          head: "h",
          headCount: 1,
          tokens: 20,
          tokensRead: 50,
          counter,
        };
        await store.append(session, {
          records: [counted(`${id}2`, 7)],
          ...(since !== undefined && { counter: since }),
        });
        assert.equal(await store.commitReduction(session, known), "committed");
        const later = await store.readView(session);
        assert.deepEqual([later.tokens, later.counter], [undefined, ""]);
        await store.clear(session);
      }
    },
  },
];
