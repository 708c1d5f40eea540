import { strict as assert } from "node:assert";
import type { SessionRef } from "../../src/store/contract/session-ref.js";
import type { StoredKey } from "../../src/store/contract/writer-keys.js";
import { asRead, code, everything, human, record, texts, type StoreCase, type StoreContext } from "./store-case.js";

const [first, second] = ["AAAAAAAA", "BBBBBBBB"];

/** The keys of a writer that made one. */
function making(name: string): { readonly name: string; readonly made: StoredKey } {
  return { name, made: { key: `${name} k1`, dek: `wrapped ${name}`.replace(" ", "-").padEnd(64, "-") } };
}

/** The key that a refusal names. */
async function keyIn(work: Promise<unknown>): Promise<StoredKey | undefined> {
  const error = await work.then(
    () => assert.fail("The call was not refused."),
    (refused: unknown) => refused as { readonly code?: unknown; readonly stored?: StoredKey },
  );
  assert.equal(error.code, "unknown_key");
  return error.stored;
}

/** Rules for writers that encrypt. A store never looks into their records. */
export const keyCases: readonly StoreCase[] = [
  {
    title: "a session with a data key refuses every writer that does not name it, and nothing changes",
    async check(context) {
      const { store, session } = context;
      await store.append({ ...session, keys: making(first) }, { records: [human("a"), record("b")] });
      const before = await everything(context);
      const view = asRead(await store.readView({ ...session, keys: {} }));
      for (const keys of [undefined, {}, { name: second }, making(second)]) {
        const refused = async (work: Promise<unknown>) => assert.deepEqual(await keyIn(work), making(first).made);
        const caller: SessionRef = { ...session, ...(keys && { keys }) };
        await refused(store.append(caller, { records: [record("c")] }));
        await refused(store.append(caller, { records: [human("a")] }));
        await refused(store.commitReduction(caller, { ...view, start: 1, head: "head", headCount: 1 }));
        await refused(store.beside.writeSide(caller, { set: { name: "value" } }));
        await refused(store.lists.relabel(caller, { label: { title: "x" }, version: "" }));
        await refused(store.edits.rebuild(caller, () => undefined));
        if (keys === undefined) {
          await refused(store.readView(caller));
          await refused(store.readLog(caller));
          await refused(store.beside.readSide(caller, ""));
          await refused(store.beside.readRounds(caller, 1));
          await refused(store.beside.readPage(caller, { limit: 1 }));
          await refused(store.copies.read(caller));
        }
      }
      assert.deepEqual(await everything(context), before);
      assert.equal((await store.append({ ...session, keys: { name: first } }, { records: [record("c")] })).appended, 1);
    },
  },
  {
    title: "a session has one data key for its life, and another in its next",
    async check({ store, session }) {
      const learned: StoredKey[] = [];
      const reader = { ...session, keys: { name: first, learn: (stored: StoredKey) => void learned.push(stored) } };
      await store.append({ ...session, keys: making(first) }, { records: [record("a")] });
      await store.readView(reader);
      assert.deepEqual(learned.at(-1), making(first).made);
      assert.equal((await store.copies.read(reader))!.isSealed, true);
      await store.clear(session);
      const own = { ...session, keys: { name: first } };
      assert.equal(await keyIn(store.append(own, { records: [record("a")] })), undefined);
      await store.append({ ...session, keys: making(second) }, { records: [record("a")] });
      await store.readLog({ ...reader, keys: { ...reader.keys, name: second } });
      assert.deepEqual(learned.at(-1), making(second).made);
    },
  },
  {
    title: "a session of plain text takes a data key with a mark, by each kind of write",
    check: marksPlain,
  },
  {
    title: "a session that begins with a data key has no mark of plain text",
    async check({ store, session }) {
      const caller = { ...session, keys: making(first) };
      await store.beside.takeHold(session, { ticket: "t", holdMs: 60_000, graceMs: 60_000 });
      await store.append(caller, { records: [], side: { set: { note: "x" } } });
      await store.append(caller, { records: [record("a")] });
      assert.deepEqual((await store.edits.readKey(session))!.stored, making(first).made);
    },
  },
  {
    title: "a writer with a data key is asked for plain digests where ids may be those of plain records",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: [record("a"), record("b")] });
      const before = await everything(context);
      const sealed = [record("a", { text: "sealed" }), record("c")];
      const caller = { ...session, keys: making(first) };
      await assert.rejects(store.append(caller, { records: sealed, expectedNext: 1 }), { name: "OtherDigests" });
      assert.deepEqual(await everything(context), before);
      const known = sealed.map((each) => ({ ...each, otherDigest: record("a").digest }));
      const { appended, duplicates } = await store.append(caller, { records: known });
      assert.deepEqual([appended, duplicates], [1, 1]);
      const other = [{ ...record("b", { text: "sealed" }), otherDigest: "--other-" }];
      await assert.rejects(store.append(caller, { records: other }), code("content"));
      const refused = store.append({ ...session, keys: { name: first } }, { records: [record("c", { text: "x" })] });
      await assert.rejects(refused, { name: "OtherDigests" });
    },
  },
  {
    title: "a wrapped data key is replaced if it is as it was read, and so is its mark",
    async check({ store, session }) {
      assert.equal(await store.edits.readKey(session), undefined);
      await store.append(session, { records: [record("a")] });
      await store.append({ ...session, keys: making(first) }, { records: [record("b")] });
      const { epoch, stored } = (await store.edits.readKey(session))!;
      assert.equal(epoch, (await store.readView({ ...session, keys: { name: first } })).epoch);
      const now = { ...making(first).made, key: `${first} k2` };
      assert.equal(await store.edits.rewrapKey(session, { was: making(first).made, now }), false);
      assert.equal(await store.edits.rewrapKey(session, { was: stored!, now }), true);
      assert.deepEqual((await store.edits.readKey(session))!.stored, now);
      await store.append({ ...session, keys: { name: first } }, { records: [record("c")] });
    },
  },
  {
    title: "a swap replaces what is as it was read, with the digest of its id and a data key, and nothing else",
    check: swapsTexts,
  },
];

async function marksPlain({ store, session }: StoreContext): Promise<void> {
  const writes: readonly [string, (caller: SessionRef) => Promise<unknown>][] = [
    ["append", (caller) => store.append(caller, { records: [record("b")] })],
    ["side", (caller) => store.beside.writeSide(caller, { set: { note: "x" } })],
    ["label", (caller) => store.lists.relabel(caller, { label: { title: "x" }, version: "" })],
    [
      "reduction",
      async (caller) => {
        const view = asRead(await store.readView({ id: caller.id, keys: {} }));
        return store.commitReduction(caller, { ...view, start: 1, head: "head", headCount: 1 });
      },
    ],
  ];
  for (const [name, write] of writes) {
    const id = `${session.id}-${name}`;
    await store.append({ id }, { records: [record("a")] });
    await write({ id, keys: making(first) });
    const { stored } = (await store.edits.readKey({ id }))!;
    assert.deepEqual(stored, { ...making(first).made, key: `${first} k1 plain` }, name);
    await store.append({ id, keys: { name: first } }, { records: [record("c")] });
  }
}

async function swapsTexts({ store, session }: StoreContext): Promise<void> {
  await store.append(session, { records: [record("a"), record("b")] });
  const { epoch } = await store.readView(session);
  const [was, other] = [record("b"), record("b", { text: "other" })];
  const swap = { position: 1, was: was.record, text: other.record, identity: other };
  const caller = { ...session, keys: making(first) };
  const swapped = (request: object) => store.edits.swapRecords(caller, { epoch, records: [swap], ...request });
  assert.equal(await swapped({ epoch: "another" }), 0);
  assert.equal((await store.edits.readKey(session))!.stored, undefined);
  assert.equal(
    await swapped({
      records: [
        { ...swap, position: 0 },
        { ...swap, position: 9 },
      ],
    }),
    0,
  );
  assert.deepEqual((await store.readLog(caller)).records, texts([record("a"), was]));
  assert.equal(await swapped({}), 1);
  assert.equal(await swapped({}), 0);
  assert.deepEqual((await store.readLog(caller)).records, texts([record("a"), other]));
  assert.equal((await store.append(caller, { records: [other] })).duplicates, 1);
  await assert.rejects(store.edits.swapRecords(session, { epoch, records: [swap] }), code("unknown_key"));
}
