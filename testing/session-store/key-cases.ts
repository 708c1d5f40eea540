import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { strict as assert } from "node:assert";
import type { SessionRef, StoredKey } from "../../src/store/contract/session-ref.js";
import { replacing } from "./replaced-session.js";
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
        await refused(store.data.writeSide(caller, { set: { name: "value" } }));
        await refused(store.lists.relabel(caller, { label: { title: "x" }, version: "" }));
        await refused(store.edits.rebuild(caller, () => undefined));
        if (keys === undefined) {
          await refused(store.readView(caller));
          await refused(readLog(store, caller));
          await refused(store.data.readSide(caller, ""));
          await refused(readLastRounds(store, caller, 1));
          await refused(store.data.readPage(caller, { limit: 1 }));
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
      await store.readView({ ...reader, keys: { ...reader.keys, name: second } });
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
      await store.data.acquireHold(session, { ticket: "t", holdMs: 60_000, graceMs: 60_000 });
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
    title: "a copy under another key takes the place of its session: holds, marks, counts and times stay",
    check: replacesSession,
  },
  {
    title: "a copy under another key leaves a session that is not as it was read, and goes on where others appended",
    check: refusesChanged,
  },
  {
    title: "a copy under another key keeps the marks of discarded turns, and discarded ids with any content",
    check: keepsDiscarded,
  },
];

async function marksPlain({ store, session }: StoreContext): Promise<void> {
  const writes: readonly [string, (caller: SessionRef) => Promise<unknown>][] = [
    ["append", (caller) => store.append(caller, { records: [record("b")] })],
    ["side", (caller) => store.data.writeSide(caller, { set: { note: "x" } })],
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

async function replacesSession(context: StoreContext): Promise<void> {
  const { store, session } = context;
  const chat = [human("a"), record("b"), human("c")];
  const turn = { name: "t-3456789-abcd", stored: 0, done: false };
  await store.append(
    { ...session, label: { title: "plain" } },
    { records: chat.slice(0, 1), side: { set: { x: "1" } } },
  );
  await store.append(session, { records: chat.slice(1), turn, counter: "c", ttlMs: 90_000 });
  const held = await store.data.acquireHold(session, { ticket: "h", holdMs: 60_000, graceMs: 60_000 });
  await store.data.acquireHold(session, { ticket: "w", holdMs: 60_000, graceMs: 60_000 });
  const view = await store.readView(session);
  await store.commitReduction(session, { ...asRead(view), start: 1, head: "summary", headCount: 1 });
  const was = (await store.copies.read(session))!;
  const stats = await store.data.readStats(session);
  const records = chat.map((each) => ({ ...each, record: `${each.record} sealed`, digest: "sealed--" }));
  const now = { head: "sealed head", label: { title: "sealed" }, side: { x: "sealed" } };
  const { made } = making(first);
  const request = { records, now, key: made, openTurns: new Set([turn.name]) };
  assert.equal(await store.copies.replace(session, replacing(was, request)), "replaced");
  await assert.rejects(store.readView(session), code("unknown_key"));
  const caller = { ...session, keys: { name: first } };
  const after = (await store.copies.read(caller))!;
  // A read calculates when a session expires from what is left of its time.
  assert.ok(Math.abs(after.expiresAt! - was.expiresAt!) < 1_000);
  const { expiresAt } = after;
  assert.deepEqual({ ...after, sum: "" }, { ...was, ...now, expiresAt, isSealed: true, sum: "" });
  assert.deepEqual((await readLog(store, caller)).records, texts(records));
  assert.deepEqual((await store.edits.readKey(session))!.stored, made);
  const statsNow = await store.data.readStats(session);
  assert.deepEqual({ ...statsNow, bytes: 0, expiresAt }, { ...stats, bytes: 0, expiresAt });
  assert.deepEqual((await store.copies.readMarks(caller, { turns: [turn.name] })).turns, [
    { done: false, count: 2, first: 1 },
  ]);
  assert.equal((await store.append(caller, { records })).duplicates, 3);
  assert.equal(await store.data.renewHold(caller, { ticket: "h", holdMs: 60_000 }), true);
  const hold = held.isHeld ? held.hold : undefined;
  assert.equal((await store.append({ ...caller, ...(hold && { hold }) }, { records: [record("d")] })).appended, 1);
}

async function refusesChanged(context: StoreContext): Promise<void> {
  const { store, session } = context;
  const records = [record("a"), record("b")];
  await store.append({ ...session, label: { title: "old" } }, { records, side: { set: { x: "1", y: "2" } } });
  const was = (await store.copies.read(session))!;
  const others = [
    { ...was, epoch: "other" },
    { ...was, cut: "other" },
    { ...was, next: 1 },
    { ...was, head: "other" },
    { ...was, label: {} },
    { ...was, label: { title: "other" } },
    { ...was, side: { x: "1" } },
    { ...was, side: { x: "1", y: "3" } },
  ];
  const before = await everything(context);
  for (const other of others) {
    const request = { records: records.slice(0, other.next), key: making(first).made };
    assert.equal(await store.copies.replace(session, replacing(other, request)), "stale");
  }
  assert.deepEqual(await everything(context), before);
  // Others append meanwhile: it is made again.
  const request = { records, key: making(first).made };
  const stale = replacing(was, request);
  const pages = async function* () {
    yield* stale.pages();
    await store.append(session, { records: [record("c")] });
  };
  assert.equal(await store.copies.replace(session, { ...stale, pages }), "stale");
  const more = { ...request, records: [...records, record("c")] };
  const now = (await store.copies.read(session))!;
  assert.equal(await store.copies.replace(session, replacing(now, more)), "replaced");
  assert.equal((await store.append({ ...session, keys: { name: first } }, more)).duplicates, 3);
}

async function keepsDiscarded(context: StoreContext): Promise<void> {
  const { store, session } = context;
  const turn = (name: string, done: boolean) => ({ name: `turn-${name}-12345678`.slice(0, 14), stored: 0, done });
  const chat = [human("a"), record("b"), human("c"), record("d")];
  await store.append(session, { records: chat.slice(0, 2), turn: turn("1", true) });
  await store.append(session, { records: chat.slice(2), turn: turn("2", true) });
  const view = await store.readView(session);
  await store.commitReduction(session, { ...asRead(view), start: 2, head: "summary", headCount: 1, discard: true });
  const marks = () => store.copies.readMarks({ ...session, keys: {} }, { turns: [turn("1", true).name], ids: ["a"] });
  const before = await marks();
  const was = (await store.copies.read(session))!;
  const records = chat.slice(2).map((each) => ({ ...each, digest: "sealed--" }));
  assert.equal(await store.copies.replace(session, replacing(was, { records, key: making(first).made })), "replaced");
  const now = await marks();
  assert.deepEqual(now.turns, before.turns);
  assert.deepEqual(
    now.digests,
    before.digests.map((digest) => digest && "--------"),
  );
}
