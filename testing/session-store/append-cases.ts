import { readLog } from "../../src/store/contract/session-data.js";
import { strict as assert } from "node:assert";
import { code, everything, human, record, records, texts, written, type StoreCase } from "./store-case.js";

/** Records that an append adds, and records that it leaves out. */
export const appendCases: readonly StoreCase[] = [
  {
    title: "what was appended is read back in order, from position 0",
    async check(context) {
      const list = records("a", 3);
      const result = await context.store.append(context.session, { records: list });
      assert.deepEqual([result.appended, result.duplicates, result.conflicts, result.next], [3, 0, [], 3]);
      const view = await context.store.readView(context.session);
      assert.deepEqual(view.records, texts(list));
      assert.deepEqual(
        [view.base, view.start, view.next, view.head, view.headCount, view.damaged],
        [0, 0, 3, "", 0, false],
      );
      assert.ok(view.epoch !== "" && view.epoch === result.epoch && view.rev !== "");
    },
  },
  {
    title: "a later append continues the log in the same epoch",
    async check({ store, session }) {
      const first = await store.append(session, { records: records("a", 2) });
      const second = await store.append(session, { records: records("b", 2) });
      assert.deepEqual([second.next, second.epoch, second.view], [4, first.epoch, undefined]);
      assert.deepEqual((await store.readView(session)).records, texts([...records("a", 2), ...records("b", 2)]));
    },
  },
  {
    title: "records are returned byte for byte, whatever they contain",
    async check(context) {
      const odd = [
        "[]",
        "12345678901234567890",
        "\u0000\u0001\r\n",
        "👩‍👩‍👧 é \u2028",
        '{"a":[],"b":{},"c":1e400}',
        " ",
        "%s %d \\",
      ];
      const list = odd.map((text, index) => ({ ...record(`o${index}`), record: text }));
      assert.deepEqual((await written(context, list)).records, odd);
    },
  },
  {
    title: "an empty record and a record of a megabyte are stored unchanged",
    async check(context) {
      const list = [
        { ...record("empty"), record: "" },
        { ...record("large"), record: "x".repeat(1_000_000) },
      ];
      assert.deepEqual((await written(context, list)).records, texts(list));
    },
  },
  {
    title: "one append takes ten thousand records, whole and in order",
    async check(context) {
      const list = records("a", 10_000);
      const view = await written(context, list);
      assert.deepEqual(view.records, texts(list));
      const again = await context.store.append(context.session, { records: [...list, record("b")] });
      assert.deepEqual([again.appended, again.duplicates, again.next], [1, 10_000, 10_001]);
    },
  },
  {
    title: "a repeated message adds nothing",
    async check({ store, session }) {
      await store.append(session, { records: records("a", 3) });
      const again = await store.append(session, { records: records("a", 3) });
      assert.deepEqual([again.appended, again.duplicates, again.conflicts, again.next], [0, 3, [], 3]);
      assert.deepEqual((await store.readView(session)).records, texts(records("a", 3)));
    },
  },
  {
    title: "only the new ones among repeated messages are added, in order",
    async check({ store, session }) {
      await store.append(session, { records: records("a", 2) });
      const mixed = [record("n1"), record("a2"), record("n2"), record("a1"), record("n3")];
      const result = await store.append(session, { records: mixed });
      assert.deepEqual([result.appended, result.duplicates, result.next], [3, 2, 5]);
      assert.deepEqual(
        (await readLog(store, session, { from: 2 })).records,
        texts([record("n1"), record("n2"), record("n3")]),
      );
    },
  },
  {
    title: "a message that occurs twice in one append is added once",
    async check({ store, session }) {
      const result = await store.append(session, { records: [record("a"), record("b"), record("a")] });
      assert.deepEqual([result.appended, result.duplicates, result.next], [2, 1, 2]);
    },
  },
  {
    title: "a message is recognized by any id, however long",
    async check({ store, session }) {
      const ids = ["x".repeat(5_000), "__proto__", "constructor", "é", "e\u0301", "a\u0000b", "a", "A", "1", "01"];
      const list = ids.map((id) => record(id));
      assert.equal((await store.append(session, { records: list })).appended, ids.length);
      assert.equal((await store.append(session, { records: list })).duplicates, ids.length);
    },
  },
  {
    title: "an id with other content is refused, and nothing is written",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: [human("a"), record("b")] });
      const before = await everything(context);
      const turn = [record("n1"), record("b", { text: "other" }), record("n2")];
      const request = { records: turn, side: { set: { field: "value" } }, ttlMs: 60_000 };
      await assert.rejects(store.append(session, request), { code: "content", messageId: "b", sessionId: session.id });
      assert.deepEqual(await everything(context), before);
    },
  },
  {
    title: "an id with two contents in one append is refused, and nothing is written",
    async check({ store, session }) {
      await assert.rejects(store.append(session, { records: [record("a"), record("a", { text: "other" })] }), {
        code: "content",
        messageId: "a",
      });
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: 'with onConflict "keep", other contents are left out and reported by index',
    async check({ store, session }) {
      await store.append(session, { records: [record("a"), record("b")] });
      const turn = [
        record("n1"),
        record("b", { text: "other" }),
        record("n2"),
        record("n1", { text: "other" }),
        record("a"),
      ];
      const result = await store.append(session, { records: turn, onConflict: "keep" });
      assert.deepEqual([result.appended, result.duplicates, result.conflicts, result.next], [2, 1, [1, 3], 4]);
      assert.deepEqual(
        (await store.readView(session)).records,
        texts([record("a"), record("b"), record("n1"), record("n2")]),
      );
    },
  },
  {
    title: "two concurrent writers keep both turns whole",
    async check({ store, session }) {
      const turns = Array.from({ length: 20 }, (_, index) => [human(`q${index}`), record(`a${index}`)]);
      await Promise.all(turns.map((turn) => store.append(session, { records: turn })));
      const { records: stored } = await store.readView(session);
      assert.equal(stored.length, 40);
      for (const [question, answer] of turns) {
        assert.equal(stored[stored.indexOf(question!.record) + 1], answer!.record);
      }
    },
  },
  {
    title: "an empty append creates no session, and reports an existing one",
    async check({ store, session }) {
      const nothing = await store.append(session, { records: [], ttlMs: 60_000 });
      assert.deepEqual(nothing, { appended: 0, duplicates: 0, conflicts: [], next: 0, epoch: "" });
      assert.equal((await store.readView(session)).epoch, "");
      const { epoch } = await store.append(session, { records: records("a", 2) });
      const later = await store.append(session, { records: [] });
      assert.deepEqual(later, { appended: 0, duplicates: 0, conflicts: [], next: 2, epoch });
    },
  },
  {
    title: "sessions are independent of each other",
    async check({ store, session }) {
      const others = [`${session.id}-other`, `${session.id}%`, `${session.id} `, session.id.toUpperCase()];
      await store.append(session, { records: records("a", 2) });
      for (const id of others) {
        const other = { id };
        assert.equal((await store.readView(other)).epoch, "");
        assert.equal((await store.append(other, { records: records("a", 1) })).appended, 1);
        await store.clear(other);
      }
      assert.equal((await store.readView(session)).next, 2);
    },
  },
  {
    title: "a record above the size limit is refused before anything is written",
    async check({ store, session }) {
      const request = { records: [record("a"), { ...record("b"), record: "é".repeat(500_001) }] };
      await assert.rejects(store.append(session, request), code("too_large"));
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "an append above the size limit is refused before anything is written",
    async check({ store, session }) {
      const list = records("a", 11).map((item) => ({ ...item, record: "x".repeat(950_000) }));
      await assert.rejects(store.append(session, { records: list }), code("too_large"));
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
];
