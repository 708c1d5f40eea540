import { strict as assert } from "node:assert";
import { asRead, code, everything, human, record, texts, type StoreCase, type StoreContext } from "./store-case.js";

const [first, second] = ["k1.AAAAAAAA", "k2.BBBBBBBB"];
const both = { current: second, known: [first, second] };

/** Rules for writers that encrypt. A store never looks into their records. */
export const keyCases: readonly StoreCase[] = [
  {
    title: "a session that needs a key refuses every writer that does not name it, and nothing changes",
    async check(context) {
      const { store, session } = context;
      await store.append(
        { ...session, keys: { current: first, known: [first] } },
        { records: [human("a"), record("b")] },
      );
      const before = await everything(context);
      const view = asRead(await store.readView(session));
      for (const keys of [undefined, { known: [] }, { current: second, known: [second] }]) {
        const refused = (work: Promise<unknown>) => assert.rejects(work, code("unknown_key"));
        const caller = { ...session, ...(keys && { keys }) };
        await refused(store.append(caller, { records: [record("c")] }));
        await refused(store.append(caller, { records: [human("a")] }));
        await refused(store.commitReduction(caller, { ...view, start: 1, head: "head", headCount: 1 }));
        await refused(store.beside.writeSide(caller, { set: { name: "value" } }));
      }
      assert.deepEqual(await everything(context), before);
    },
  },
  {
    title: "a session needs the keys of all its writers, until a pass ends with one",
    async check({ store, session }) {
      await store.append(session, { records: [record("a")] });
      await store.append({ ...session, keys: { current: first, known: [first] } }, { records: [record("b")] });
      await store.append({ ...session, keys: both }, { records: [record("c")] });
      const only = { current: second, known: [second] };
      await assert.rejects(store.append({ ...session, keys: only }, { records: [record("d")] }), code("unknown_key"));
      await assert.rejects(store.edits.beginSwaps({ ...session, keys: only }), code("unknown_key"));
      const pass = (await store.edits.beginSwaps({ ...session, keys: both }))!;
      assert.equal(await store.edits.finishSwaps(session, pass, second), true);
      await store.append({ ...session, keys: only }, { records: [record("d")] });
      await store.clear(session);
      await store.append(session, { records: [record("a")] });
    },
  },
  {
    title: "each key that wrote a session is named once, the last one first",
    async check({ store, session }) {
      const names = async () => (await store.copies.read(session))!.key;
      await store.append(session, { records: [record("a")] });
      assert.equal(await names(), undefined);
      for (const [index, current] of [first, second, second, first].entries()) {
        await store.append({ ...session, keys: { ...both, current } }, { records: [record(`b${index}`)] });
      }
      await store.append({ ...session, keys: { known: both.known } }, { records: [record("c")] });
      assert.equal(await names(), `${first} ${second}`);
    },
  },
  {
    title: "a writer that compares is given the stored records of ids with other digests, and nothing changes",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: [record("a"), record("b"), record("c")] });
      const before = await everything(context);
      const list = [record("a"), record("b", { text: "other" }), record("d"), record("c", { text: "other" })];
      const keys = { ...both, compare: true };
      const { appended, differing } = await store.append({ ...session, keys }, { records: list, expectedNext: 1 });
      assert.equal(appended, 0);
      assert.deepEqual(differing, [
        { index: 1, record: record("b").record },
        { index: 3, record: record("c").record },
      ]);
      assert.deepEqual(await everything(context), before);
      assert.equal((await store.append({ ...session, keys }, { records: [record("a"), record("d")] })).appended, 1);
    },
  },
  {
    title: "a writer that compares neither waits for the hold nor renews the time to live of what it is given",
    async check({ store, session, time, wait }) {
      await store.append(session, { records: [record("a")], ttlMs: time(400) });
      await store.beside.takeHold(session, { ticket: "one", holdMs: time(60_000), graceMs: time(60_000) });
      const take = { ticket: "two", holdMs: time(60_000), graceMs: time(60_000) };
      const request = { records: [record("a", { text: "other" })], take, ttlMs: time(60_000) };
      const found = await store.append({ ...session, keys: { ...both, compare: true } }, request);
      assert.deepEqual([found.differing, found.place], [[{ index: 0, record: record("a").record }], undefined]);
      await wait(500);
      assert.equal((await store.readView(session)).epoch, "");
    },
  },
  {
    title: "a swap replaces what is as it was read, with the digest of its id, and nothing else",
    check: swapsTexts,
  },
  {
    title: "a pass ends only if no other key wrote since it began",
    async check({ store, session }) {
      assert.equal(await store.edits.beginSwaps({ ...session, keys: both }), undefined);
      await store.append({ ...session, keys: { current: first, known: [first] } }, { records: [record("a")] });
      const pass = (await store.edits.beginSwaps({ ...session, keys: both }))!;
      await store.append({ ...session, keys: { current: first, known: [first, second] } }, { records: [record("b")] });
      await store.append({ ...session, keys: both }, { records: [record("c")] });
      assert.equal(await store.edits.finishSwaps(session, pass, second), false);
    },
  },
  {
    title: "a pass ends where only its own key wrote since it began",
    async check({ store, session }) {
      await store.append({ ...session, keys: { current: first, known: [first] } }, { records: [record("a")] });
      const pass = (await store.edits.beginSwaps({ ...session, keys: both }))!;
      await store.append({ ...session, keys: both }, { records: [record("b")] });
      assert.equal(await store.edits.finishSwaps(session, pass, second), true);
    },
  },
];

async function swapsTexts({ store, session }: StoreContext): Promise<void> {
  await store.append(session, { records: [record("a"), record("b")] });
  const { epoch, fields } = (await store.edits.beginSwaps({ ...session, keys: both }))!;
  assert.deepEqual(fields, {});
  const [was, other] = [record("b"), record("b", { text: "other" })];
  const swap = { position: 1, was: was.record, text: other.record, identity: other };
  const swapped = (request: object) => store.edits.swapRecords(session, { epoch, records: [swap], ...request });
  assert.equal(await swapped({ epoch: "another" }), 0);
  assert.equal(
    await swapped({
      records: [
        { ...swap, position: 0 },
        { ...swap, position: 9 },
      ],
    }),
    0,
  );
  assert.deepEqual((await store.readLog(session)).records, texts([record("a"), was]));
  assert.equal(await swapped({}), 1);
  assert.equal(await swapped({}), 0);
  assert.deepEqual((await store.readLog(session)).records, texts([record("a"), other]));
  assert.equal((await store.append({ ...session, keys: both }, { records: [other] })).duplicates, 1);
}
