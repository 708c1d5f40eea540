import { readLog } from "../../src/store/contract/session-data.js";
import { strict as assert } from "node:assert";
import type { SessionView } from "../../src/store/contract/session-reads.js";
import type { NewRecord, TurnClaim } from "../../src/store/contract/session-writes.js";
import { storedTurn, asRead, human, record, records, texts, type StoreCase, type StoreContext } from "./store-case.js";

const name = "turn-name-0001";
const other = "turn-name-0002";
const third = "turn-name-0003";

function claim(rest: Partial<TurnClaim> = {}): { turn: TurnClaim } {
  return { turn: { name, stored: 0, done: true, ...rest } };
}

const question = human("q");
const answer = record("a");

/** Turns: one name, stored once. */
export const turnCases: readonly StoreCase[] = [
  {
    title: "a turn is stored once, even if the retry has other ids and texts",
    async check({ store, session }) {
      const first = await store.append(session, { records: [question, answer], ...claim() });
      assert.deepEqual([first.appended, first.turn], [2, undefined]);
      const again = await store.append(session, { records: [human("q2"), record("a2")], ...claim() });
      assert.deepEqual([again.appended, again.duplicates, again.next], [0, 2, 2]);
      assert.deepEqual(again.turn, { done: true, count: 2, first: 0, records: texts([question, answer]) });
      assert.deepEqual((await readLog(store, session)).records, texts([question, answer]));
    },
  },
  {
    title: "of concurrent appends of one turn, exactly one is stored",
    async check({ store, session }) {
      const results = await Promise.all(
        ["x", "y", "z"].map((id) => store.append(session, { records: [human(`q${id}`), record(id)], ...claim() })),
      );
      assert.deepEqual(results.map(({ appended }) => appended).sort(), [0, 0, 2]);
      assert.equal((await readLog(store, session)).next, 2);
    },
  },
  {
    title: "an append to an open turn that is sent again is the same, also where others wrote in between",
    async check({ store, session }) {
      await store.append(session, { records: [question], ...claim({ done: false }) });
      await store.append(session, { records: [record("b")] });
      const part = { records: [answer], ...claim({ stored: 1, done: false }) };
      await store.append(session, part);
      const again = await store.append(session, part);
      assert.deepEqual([again.appended, again.turn?.count, again.turn?.same], [0, 2, true]);
      const another = await store.append(session, { ...part, records: [record("c")] });
      assert.deepEqual([another.appended, another.turn?.same], [0, undefined]);
    },
  },
  {
    title: "an open turn accepts more records from a writer that knows how many are stored",
    async check({ store, session }) {
      await store.append(session, { records: [question], ...claim({ done: false }) });
      const unaware = await store.append(session, { records: [question, answer], ...claim() });
      assert.deepEqual(unaware.turn, { done: false, count: 1, first: 0, records: texts([question]) });
      const aware = await store.append(session, { records: [answer], ...claim({ stored: 1 }) });
      assert.deepEqual([aware.appended, aware.turn], [1, undefined]);
      const again = await store.append(session, { records: [record("b")], ...claim({ stored: 1 }) });
      assert.deepEqual(again.turn, { done: true, count: 2, first: 0, records: texts([question, answer]) });
    },
  },
  {
    title: "an append to a turn that the store has forgotten returns the turn and writes nothing",
    async check({ store, session }) {
      const result = await store.append(session, { records: [answer], ...claim({ stored: 1 }) });
      assert.deepEqual([result.appended, result.turn?.count, result.turn?.done], [0, 0, false]);
      assert.equal((await readLog(store, session)).next, 0);
    },
  },
  {
    title: "a repeated turn writes no side data and checks no expectations",
    async check({ store, session }) {
      await store.append(session, { records: [question, answer], ...claim() });
      const again = await store.append(
        { ...session, hold: { epoch: "another" } },
        {
          records: [{ ...answer, digest: "other-01" }],
          expectedNext: 0,
          side: { set: { a: "b" } },
          ...claim(),
        },
      );
      assert.equal(again.turn?.done, true);
      assert.deepEqual(await store.data.readSide(session, ""), {});
    },
  },
  {
    title: "a read also returns what is stored of a turn, and the positions of messages",
    async check({ store, session }) {
      await store.append(session, { records: [record("old")] });
      await store.append(session, { records: [question, answer], ...claim() });
      const view = await store.readView(session, { ids: ["a", "unknown", "old"], turn: name });
      assert.deepEqual(view.positions, [2, undefined, 0]);
      assert.deepEqual(view.turn, { done: true, count: 2, first: 1 });
      const without = await store.readView(session, { ids: [], turn: other });
      assert.deepEqual([without.positions, without.turn], [[], undefined]);
      assert.deepEqual((await storedTurn(store, session, name))?.records, texts([question, answer]));
      assert.equal(await storedTurn(store, session, other), undefined);
    },
  },
  {
    title: "a turn is still recognized after a reduction, even if its records are discarded",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: [question, answer], ...claim() });
      await store.append(session, { records: records("b", 4) });
      await discardTo(context, 3);
      const again = await store.append(session, { records: [human("q3")], ...claim() });
      assert.deepEqual([again.appended, again.turn?.done, again.turn?.records], [0, true, []]);
    },
  },
  {
    title: "a rewind forgets the turns that it removes, and reopens a turn that it cuts",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: [question, answer], ...claim() });
      await store.append(session, { records: [human("q2")], ...claim({ name: other }) });
      const view = await store.readView(session);
      const turns = [
        { name, removed: 1 },
        { name: other, removed: 1 },
      ];
      assert.equal(
        await store.edits.rewind(session, { ...asRead(view), to: 1, forget: ["a", "q2"], turns }),
        "rewound",
      );
      assert.equal(await storedTurn(store, session, other), undefined);
      assert.deepEqual(await storedTurn(store, session, name), {
        done: false,
        count: 1,
        first: 0,
        records: texts([question]),
      });
      const rest = await store.append(session, { records: [record("a2")], ...claim({ stored: 1 }) });
      assert.equal(rest.appended, 1);
    },
  },
  {
    title: "a rebuild restores the turns named in records, and keeps those whose records were discarded",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: [record("gone")], ...claim({ name: other }) });
      await store.append(session, { records: [question, answer], ...claim() });
      await store.append(session, { records: [record("next")], ...claim({ name: third }) });
      await discardTo(context, 1);
      const identities = new Map<string, NewRecord>(
        [question, answer, record("next")].map((item) => [item.record, item]),
      );
      await store.edits.rebuild(session, (text) => {
        const { id, digest } = identities.get(text)!;
        return { id, digest, turn: { name: id === "next" ? third : name, ends: id === "a" } };
      });
      assert.deepEqual(await storedTurn(store, session, name), {
        done: true,
        count: 2,
        first: 1,
        records: texts([question, answer]),
      });
      assert.equal((await storedTurn(store, session, other))?.done, true);
      const { done, count, first } = (await storedTurn(store, session, third))!;
      assert.deepEqual({ done, count, first }, { done: false, count: 1, first: 3 });
    },
  },
  {
    title: "clearing a session forgets its turns",
    async check({ store, session }) {
      await store.append(session, { records: [question, answer], ...claim() });
      await store.clear(session);
      assert.equal((await store.append(session, { records: [question, answer], ...claim() })).appended, 2);
    },
  },
  {
    title: "replaceTail replaces the end of the log in one step",
    async check({ store, session }) {
      await store.append(session, { records: [question, answer], ...claim({ done: false }) });
      const view = await store.readView(session);
      const cut = { ...asRead(view), to: 1, forget: ["a"], turns: [{ name, removed: 1 }] };
      const better = record("a", { text: "better" });
      const result = await store.edits.replaceTail(session, { records: [better], cut, ...claim({ stored: 2 }) });
      assert.notEqual(result, "stale");
      assert.deepEqual((await readLog(store, session)).records, texts([question, better]));
      assert.deepEqual(await storedTurn(store, session, name), {
        done: true,
        count: 2,
        first: 0,
        records: texts([question, better]),
      });
      assert.notEqual((await store.readView(session)).rev, view.rev);
    },
  },
  {
    title: "replaceTail replaces nothing if the log changed since it was read",
    async check({ store, session }) {
      await store.append(session, { records: [question, answer] });
      const view = await store.readView(session);
      await store.append(session, { records: [record("late")] });
      const cut = { ...asRead(view), to: 1, forget: ["a"], turns: [] };
      assert.equal(await store.edits.replaceTail(session, { records: [record("b")], cut }), "stale");
      assert.equal((await readLog(store, session)).next, 3);
    },
  },
  {
    title: "replaceTail leaves the log unchanged on a conflict",
    async check({ store, session }) {
      await store.append(session, { records: [question, answer] });
      const view: SessionView = await store.readView(session);
      const cut = { ...asRead(view), to: 1, forget: ["a"], turns: [] };
      const request = { records: [{ ...question, digest: "other-01" }], cut };
      await assert.rejects(store.edits.replaceTail(session, request));
      assert.deepEqual((await readLog(store, session)).records, texts([question, answer]));
    },
  },
];

async function discardTo({ store, session }: StoreContext, start: number): Promise<void> {
  const view = await store.readView(session);
  const request = { ...asRead(view), start, head: "h", headCount: 1, discard: true };
  assert.equal(await store.commitReduction(session, request), "committed");
}
