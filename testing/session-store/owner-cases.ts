import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { strict as assert } from "node:assert";
import { storedTurn, asRead, code, everything, record, records, written, type StoreCase } from "./store-case.js";

/** Whose a session is: what claims it, and who is refused. */
export const ownerCases: readonly StoreCase[] = [
  {
    title: "a write with an owner claims a session that has none, and keeps the owner that it has",
    async check({ store, session }) {
      await store.append(session, { records: records("a", 1) });
      assert.equal((await store.lists.describe(session))?.owner, undefined);
      await store.append({ ...session, owner: "ann" }, { records: records("b", 1) });
      assert.equal((await store.lists.describe(session))?.owner, "ann");
      await store.append(session, { records: records("c", 1) });
      assert.equal((await store.lists.describe(session))?.owner, "ann");
    },
  },
  {
    title: "every read and every write of another owner is refused and changes nothing",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 3), {
        as: { owner: "ann" },
        side: { set: { f: "1" } },
      });
      const before = await everything(context);
      const owner = "bob";
      const refused = (call: Promise<unknown>) => assert.rejects(call, code("other_owner"));
      await refused(store.append({ ...session, owner }, { records: records("b", 1) }));
      await refused(store.append({ ...session, owner }, { records: records("a", 3) }));
      await refused(store.readView({ ...session, owner }));
      await refused(readLog(store, { ...session, owner }));
      await refused(
        store.commitReduction({ ...session, owner }, { ...asRead(view), start: 1, head: "", headCount: 0 }),
      );
      await refused(store.clear({ ...session, owner }));
      await refused(store.lists.describe({ ...session, owner }));
      await refused(store.lists.relabel({ ...session, owner }, { label: { title: "x" }, version: "" }));
      await refused(store.lists.erase({ ...session, owner }, { guardMs: 1 }));
      await refused(readLastRounds(store, { ...session, owner }, 1));
      await refused(storedTurn(store, { ...session, owner }, "turn-name-0001"));
      await refused(store.edits.rewind({ ...session, owner }, { ...asRead(view), to: 0, forget: [] }));
      await refused(store.edits.rebuild({ ...session, owner }, () => undefined));
      await refused(store.data.readSide({ ...session, owner }, ""));
      await refused(store.data.writeSide({ ...session, owner }, { set: { f: "2" } }));
      assert.deepEqual(await everything(context), before);
      await store.lists.flush();
      assert.equal(await store.lists.count(owner), 0);
    },
  },
  {
    title: "the owner and those who name none read and write a session",
    async check({ store, session }) {
      await store.append({ ...session, owner: "ann" }, { records: records("a", 1) });
      await store.append({ ...session, owner: "ann" }, { records: records("b", 1) });
      await store.append(session, { records: records("c", 1) });
      assert.equal((await store.readView({ ...session, owner: "ann" })).next, 3);
      assert.equal((await readLog(store, session)).next, 3);
    },
  },
  {
    title: "a side write claims a session, also one that it begins",
    async check({ store, session }) {
      await store.data.writeSide({ ...session, owner: "ann", label: { title: "t" } }, { set: { f: "1" } });
      const found = await store.lists.describe(session);
      assert.deepEqual([found?.owner, found?.label, found?.messages], ["ann", { title: "t" }, 0]);
      await assert.rejects(
        store.append({ ...session, owner: "bob" }, { records: records("a", 1) }),
        code("other_owner"),
      );
    },
  },
  {
    title: "a session gets the label of the first write that brings one; later it only changes by relabel",
    async check({ store, session }) {
      await store.append(session, { records: records("a", 1) });
      await store.append({ ...session, label: { title: "one", metadata: "{}" } }, { records: records("b", 1) });
      await store.append({ ...session, label: { title: "two" } }, { records: records("c", 1) });
      const first = await store.lists.describe(session);
      assert.deepEqual(first?.label, { title: "one", metadata: "{}" });
      const version = first?.labelVersion ?? "";
      assert.equal(await store.lists.relabel(session, { label: { title: "é👍" }, version }), "changed");
      await store.append({ ...session, label: { title: "two" } }, { records: records("d", 1) });
      assert.deepEqual((await store.lists.describe(session))?.label, { title: "é👍" });
    },
  },
  {
    title: "a label is replaced by compare-and-set, and an unknown session has none",
    async check({ store, session }) {
      const { lists } = store;
      assert.equal(await lists.relabel(session, { label: { title: "x" }, version: "" }), "missing");
      await store.append(session, { records: records("a", 1) });
      assert.equal(await lists.relabel(session, { label: { title: "x" }, version: "" }), "changed");
      assert.equal(await lists.relabel(session, { label: { title: "y" }, version: "" }), "stale");
      assert.deepEqual((await lists.describe(session))?.label, { title: "x" });
    },
  },
  {
    title: "a rewind to nothing does not end a session that has an owner or a title",
    async check(context) {
      const { store, session } = context;
      const rest = [{ owner: "ann" }, { label: { title: "t" } }, {}];
      for (const [position, claim] of rest.entries()) {
        const own = { ...context, session: { id: `${session.id}-${position}` } };
        const view = await written(own, records("a", 2), { as: claim });
        await store.edits.rewind(own.session, { ...asRead(view), to: 0, forget: ["a1", "a2"] });
        const after = await store.readView(own.session);
        assert.deepEqual([after.epoch === view.epoch, after.next, after.damaged], [position < 2, 0, false]);
        assert.equal((await written(own, records("a", 2))).next, 2);
        assert.equal((await store.readView(own.session)).damaged, false);
      }
    },
  },
  {
    title: "a rewind gives a session no owner, and ends one of which nothing is left",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 2), { side: { set: { f: "1" } } });
      const caller = { ...session, owner: "ann" };
      await store.edits.rewind(caller, { ...asRead(view), to: 1, forget: ["a2"] });
      assert.equal((await store.lists.describe(session))?.owner, undefined);
      const left = await store.readView(session);
      await store.edits.rewind(caller, { ...asRead(left), to: 0, forget: ["a1"] });
      assert.equal(await store.lists.describe(session), undefined);
    },
  },
  {
    title: "usage is summed by model, for new records only, and stays after a rewind",
    async check(context) {
      const { store, session } = context;
      const paid = (id: string, model: string, input: number) => ({
        ...record(id),
        usage: { model, input, output: 2, total: input + 2 },
      });
      const view = await written(context, [paid("a", "m1", 10), paid("b", "m 2:é", 1), record("c")]);
      await store.append(session, { records: [paid("a", "m1", 10), paid("d", "m1", 2 ** 40)] });
      const expected = [
        { model: "m1", input: 10 + 2 ** 40, output: 4, total: 14 + 2 ** 40 },
        { model: "m 2:é", input: 1, output: 2, total: 3 },
      ];
      assert.deepEqual((await store.lists.describe(session))?.usage, expected);
      const { next } = await store.readView(session);
      await store.edits.rewind(session, { ...asRead(view), next, to: 1, forget: ["b", "c", "d"] });
      assert.deepEqual((await store.lists.describe(session))?.usage, expected);
    },
  },
  {
    title: "the usage of 32 models is kept apart, and that of all others together",
    async check({ store, session }) {
      const usage = (model: string) => ({ model, input: 1, output: 1, total: 2 });
      const list = Array.from({ length: 40 }, (_, index) => ({ ...record(`a${index}`), usage: usage(`m${index}`) }));
      await store.append(session, { records: list });
      await store.append(session, { records: [{ ...record("b"), usage: usage("m3") }] });
      const found = (await store.lists.describe(session))?.usage ?? [];
      assert.equal(found.length, 33);
      assert.deepEqual(found[3], { model: "m3", input: 2, output: 2, total: 4 });
      assert.deepEqual(found[32], { model: "other", input: 8, output: 8, total: 16 });
    },
  },
];
