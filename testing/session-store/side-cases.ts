import { readLog } from "../../src/store/contract/session-data.js";
import { strict as assert } from "node:assert";
import { code, record, records, texts, written, type StoreCase } from "./store-case.js";

/** Fields beside the log. */
export const sideCases: readonly StoreCase[] = [
  {
    title: "side fields are read by name prefix",
    async check({ store, session }) {
      const odd = {
        "tool:1": "a",
        "tool:2": "",
        tools: "c",
        "upload:1": "é👍\u0000\n",
        __proto__x: "e",
        epoch: "f",
        "*": "g",
      };
      assert.equal(await store.data.writeSide(session, { set: odd }), true);
      assert.deepEqual(await store.data.readSide(session, ""), odd);
      assert.deepEqual(await store.data.readSide(session, "tool:"), { "tool:1": "a", "tool:2": "" });
      assert.deepEqual(await store.data.readSide(session, "*"), { "*": "g" });
      assert.deepEqual(await store.data.readSide(session, "none"), {});
    },
  },
  {
    title: "side fields do not affect the store's own data about the session",
    async check(context) {
      const { store, session } = context;
      const before = await written(context, records("a", 2));
      await store.data.writeSide(session, { set: { epoch: "x", next: "99", start: "7", rev: "r", head: "h" } });
      assert.deepEqual(await store.readView(session), before);
      assert.equal((await store.append(session, { records: [record("b")] })).next, 3);
    },
  },
  {
    title: "a session may consist of side fields, and its first message joins them in the same epoch",
    async check(context) {
      const { store, session } = context;
      await store.data.writeSide(session, { set: { field: "1" } });
      const alone = await store.readView(session);
      assert.ok(alone.epoch !== "" && alone.rev !== "");
      assert.deepEqual([alone.next, alone.records, alone.damaged], [0, [], false]);
      const view = await written(context, records("a", 2), { as: { hold: { epoch: alone.epoch } }, expectedNext: 0 });
      assert.deepEqual([view.epoch, view.rev, view.records], [alone.epoch, alone.rev, texts(records("a", 2))]);
      assert.deepEqual(await store.data.readSide(session, ""), { field: "1" });
    },
  },
  {
    title: "the first message in a session of side fields keeps its expiry",
    async check(context) {
      const { store, session, time, wait } = context;
      await store.data.writeSide(session, { set: { field: "1" }, ttlMs: time(400) });
      assert.equal((await written(context, records("a", 2))).next, 2);
      await wait(500);
      assert.equal((await store.readView(session)).epoch, "");
      assert.deepEqual((await readLog(store, session)).records, []);
    },
  },
  {
    title: "an append changes side fields in the same step",
    async check({ store, session }) {
      await store.append(session, { records: [record("a")], side: { set: { one: "1", two: "2" } } });
      await store.append(session, {
        records: [record("b")],
        side: { set: { three: "3" }, remove: ["one", "unknown"] },
      });
      assert.deepEqual(await store.data.readSide(session, ""), { two: "2", three: "3" });
      await store.append(session, { records: [], side: { set: { two: "II" } } });
      assert.deepEqual(await store.data.readSide(session, ""), { two: "II", three: "3" });
    },
  },
  {
    title: "an append with only side fields creates a session",
    async check({ store, session }) {
      const { epoch } = await store.append(session, { records: [], side: { set: { field: "1" } } });
      assert.equal((await store.readView(session)).epoch, epoch);
      assert.notEqual(epoch, "");
    },
  },
  {
    title: "a bound keeps the last fields in byte order of their names",
    async check({ store, session }) {
      const set = { "u:1": "", "t:👍": "", "t:\u{ff5e}": "", "t:a": "", "t:é": "", "t:B": "", "t:1": "" };
      await store.data.writeSide(session, { set, bound: { prefix: "t:", keep: 3 } });
      assert.deepEqual(Object.keys(await store.data.readSide(session, "")), ["t:é", "t:\u{ff5e}", "t:👍", "u:1"]);
      await store.append(session, {
        records: [record("a")],
        side: { set: { "t:zz": "" }, bound: { prefix: "t:", keep: 2 } },
      });
      assert.deepEqual(Object.keys(await store.data.readSide(session, "t:")), ["t:\u{ff5e}", "t:👍"]);
      await store.data.writeSide(session, { bound: { prefix: "t:", keep: 0 } });
      assert.deepEqual(await store.data.readSide(session, ""), { "u:1": "" });
    },
  },
  {
    title: "a field that is removed and set in one change is set",
    async check({ store, session }) {
      await store.data.writeSide(session, { set: { field: "1" } });
      await store.data.writeSide(session, { set: { field: "2" }, remove: ["field"] });
      assert.deepEqual(await store.data.readSide(session, ""), { field: "2" });
    },
  },
  {
    title: "a side write that expects different values changes nothing",
    async check({ store, session }) {
      assert.equal(await store.data.writeSide(session, { set: { field: "1" }, expected: { field: "0" } }), false);
      assert.equal((await store.readView(session)).epoch, "");
      assert.equal(await store.data.writeSide(session, { set: { field: "1" }, expected: { field: undefined } }), true);
      assert.equal(
        await store.data.writeSide(session, { set: { field: "2", other: "x" }, expected: { field: undefined } }),
        false,
      );
      assert.equal(
        await store.data.writeSide(session, {
          set: { field: "2" },
          remove: ["x"],
          expected: { field: "1", other: "x" },
        }),
        false,
      );
      assert.deepEqual(await store.data.readSide(session, ""), { field: "1" });
      assert.equal(
        await store.data.writeSide(session, { set: { field: "2" }, expected: { field: "1", other: undefined } }),
        true,
      );
      assert.deepEqual(await store.data.readSide(session, ""), { field: "2" });
    },
  },
  {
    title: "exactly one of several side writes that expect the same value succeeds",
    async check({ store, session }) {
      const tries = Array.from({ length: 8 }, (_, index) =>
        store.data.writeSide(session, { set: { field: `${index}` }, expected: { field: undefined } }),
      );
      const outcomes = await Promise.all(tries);
      assert.equal(outcomes.filter(Boolean).length, 1);
      assert.deepEqual(await store.data.readSide(session, ""), { field: String(outcomes.indexOf(true)) });
    },
  },
  {
    title: "removing fields creates no session, and removing the last keeps the session",
    async check({ store, session }) {
      assert.equal(await store.data.writeSide(session, { remove: ["field"], ttlMs: 60_000 }), true);
      assert.equal((await store.readView(session)).epoch, "");
      await store.data.writeSide(session, { set: { field: "1" } });
      const { epoch } = await store.readView(session);
      await store.data.writeSide(session, { remove: ["field"] });
      assert.equal((await store.readView(session)).epoch, epoch);
    },
  },
  {
    title: "a side write with a time to live sets it for the whole session; one without leaves it alone",
    async check(context) {
      const { store, session, time, wait } = context;
      await written(context, records("a", 2));
      await store.data.writeSide(session, { set: { field: "1" }, ttlMs: time(400) });
      await store.data.writeSide(session, { set: { field: "2" } });
      assert.equal((await store.readView(session)).next, 2);
      await wait(500);
      assert.equal((await store.readView(session)).epoch, "");
      assert.deepEqual(await store.data.readSide(session, ""), {});
    },
  },
  {
    title: "clearing a session removes its side fields",
    async check({ store, session }) {
      await store.append(session, { records: records("a", 3), side: { set: { field: "1" } } });
      await store.clear(session);
      assert.deepEqual(await store.data.readSide(session, ""), {});
    },
  },
  {
    title: "side fields count toward the size limit of an append",
    async check({ store, session }) {
      const list = records("a", 10).map((item) => ({ ...item, record: "x".repeat(950_000) }));
      const side = { set: { file: "x".repeat(600_000) } };
      await assert.rejects(store.append(session, { records: list, side }), code("too_large"));
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
];
