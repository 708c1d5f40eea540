import { strict as assert } from "node:assert";
import type { AppendRequest } from "../../src/store/session-writes.js";
import { option, record, type StoreCase } from "./store-case.js";

const badNumbers: readonly unknown[] = [-1, 0.5, Number.NaN, Infinity, "1", null, 2 ** 53];

/** Requests that are refused before any work is done. */
export const inputCases: readonly StoreCase[] = [
  {
    title: "every method refuses session ids that are empty, too long, malformed or not strings",
    async check({ store }) {
      for (const id of [
        "",
        "x".repeat(513),
        "é".repeat(257),
        "\ud800",
        "a\udc00b",
        7,
        null,
        undefined,
        {},
        ["a"],
      ] as string[]) {
        const calls = [
          store.append({ id }, { records: [record("a")] }),
          store.readView({ id }),
          store.readLog({ id }),
          store.commitReduction({ id }, { epoch: "e", rev: "r", next: 1, start: 0, head: "", headCount: 0 }),
          store.clear({ id }),
          store.beside.readRounds({ id }, 1),
          store.edits.rewind({ id }, { epoch: "e", rev: "r", next: 1, to: 0, forget: [] }),
          store.edits.rebuild({ id }, () => undefined),
          store.beside.readSide({ id }, ""),
          store.beside.writeSide({ id }, { set: { field: "1" } }),
          store.beside.acquireLease({ id }, 1_000),
          store.beside.releaseLease({ id }, "token"),
        ];
        for (const outcome of await Promise.allSettled(calls)) {
          assert.ok(
            outcome.status === "rejected" && option("sessionId")(outcome.reason),
            `accepted a bad session id of type ${typeof id}`,
          );
        }
      }
    },
  },
  {
    title: "any other session id is accepted, and different ids never share a session",
    async check({ store }) {
      const ids = [
        "a{b}c",
        "{",
        "}",
        "*",
        "a?[b]",
        "line\nbreak",
        "a b",
        "a%20b",
        "a%2520b",
        "é",
        "e\u0301",
        "👍",
        "x".repeat(512),
        "a:b",
        "a::b",
        "..",
        "\u0000",
      ];
      for (const id of ids) {
        await store.append({ id }, { records: [record(id)] });
      }
      for (const id of ids) {
        assert.deepEqual((await store.readView({ id })).records, [record(id).record]);
        await store.clear({ id });
        assert.equal((await store.readView({ id })).epoch, "");
      }
    },
  },
  {
    title: "invalid numbers are refused with the name of their option",
    async check({ store, session }) {
      for (const bad of badNumbers as number[]) {
        const append = (part: Partial<AppendRequest>) => store.append(session, { records: [record("a")], ...part });
        await assert.rejects(append({ expectedNext: bad }), option("expectedNext"));
        const held = { ...session, hold: { epoch: "", token: bad } };
        await assert.rejects(store.append(held, { records: [record("a")] }), option("hold.token"));
        await assert.rejects(append({ ttlMs: bad }), option("ttlMs"));
        await assert.rejects(store.readLog(session, { from: bad }), option("from"));
        await assert.rejects(store.readLog(session, { limit: bad }), option("limit"));
      }
      for (const bad of [-1, Number.NaN, Infinity, "1"] as number[]) {
        await assert.rejects(
          store.append(session, { records: [], viewLimit: { messages: bad } }),
          option("viewLimit.messages"),
        );
        await assert.rejects(
          store.append(session, { records: [], viewLimit: { tokens: bad } }),
          option("viewLimit.tokens"),
        );
        await assert.rejects(
          store.append(session, { records: [], viewLimit: { fromStart: bad } }),
          option("viewLimit.fromStart"),
        );
        await assert.rejects(
          store.append(session, { records: [record("a", { tokens: bad })] }),
          option("records.0.tokens"),
        );
      }
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "a time to live and a limit of zero are refused",
    async check({ store, session }) {
      await assert.rejects(store.append(session, { records: [record("a")], ttlMs: 0 }), option("ttlMs"));
      await assert.rejects(store.readLog(session, { limit: 0 }), option("limit"));
    },
  },
  {
    title: "an invalid number of rounds is refused",
    async check({ store, session }) {
      for (const bad of [0, ...badNumbers] as number[]) {
        await assert.rejects(store.beside.readRounds(session, bad), option("count"));
      }
    },
  },
  {
    title: "invalid numbers of a side write are refused",
    async check({ store, session }) {
      for (const bad of badNumbers as number[]) {
        const side = { bound: { prefix: "", keep: bad } };
        await assert.rejects(store.append(session, { records: [], side }), option("side.bound.keep"));
        await assert.rejects(store.beside.writeSide(session, { set: { field: "1" }, ttlMs: bad }), option("ttlMs"));
      }
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "an invalid lease duration is refused",
    async check({ store, session }) {
      for (const bad of [0, ...badNumbers] as number[]) {
        await assert.rejects(store.beside.acquireLease(session, bad), option("ttlMs"));
      }
    },
  },
  {
    title: "a record without id, valid digest or text is refused with its index",
    async check({ store, session }) {
      const append = (part: object) => store.append(session, { records: [record("a"), { ...record("b"), ...part }] });
      await assert.rejects(append({ id: "" }), option("records.1.id"));
      await assert.rejects(append({ id: undefined }), option("records.1.id"));
      await assert.rejects(append({ digest: "0123456+" }), option("records.1.digest"));
      await assert.rejects(append({ digest: "012345678" }), option("records.1.digest"));
      await assert.rejects(append({ record: undefined }), option("records.1.record"));
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
];
