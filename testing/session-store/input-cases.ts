import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { strict as assert } from "node:assert";
import { option, record, type StoreCase } from "./store-case.js";

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
          readLog(store, { id }),
          store.commitReduction({ id }, { epoch: "e", rev: "r", next: 1, start: 0, head: "", headCount: 0 }),
          store.clear({ id }),
          readLastRounds(store, { id }, 1),
          store.edits.rewind({ id }, { epoch: "e", rev: "r", next: 1, to: 0, forget: [] }),
          store.edits.rebuild({ id }, () => undefined),
          store.data.readSide({ id }, ""),
          store.data.writeSide({ id }, { set: { field: "1" } }),
          store.data.acquireLease({ id }, 1_000),
          store.data.releaseLease({ id }, "token"),
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
];
