import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { storedTurn, asRead, forkOf, human, record, texts } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { identify } from "../support/store-commands.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
const copyRecord = (text: string) => ({ record: text, identity: identify(text) });
const turn = { name: "turn-name-0001", stored: 0, done: true };
const hold = { ticket: "ticket", holdMs: 60_000, graceMs: 1_000 };

describe("A rare write to a session", () => {
  const client = sharedClient();
  let keyPrefix: string;
  let store: RedisSessionStore;
  const keysOf = (id: string) => sessionKeys(keyPrefix, id);
  const fieldsOf = (id: string, ...names: string[]) => client.hmget(keysOf(id).state, ...names);
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
  });

  it("of side fields only begins neither log nor ids, and no position", async () => {
    const ann = { ...session, owner: "ann" };
    await store.append(ann, { records: [], side: { set: { field: "x" } }, turn });
    expect(await client.exists(keysOf("s").log, keysOf("s").ids)).toBe(0);
    expect(await fieldsOf("s", "next", "rounds", "sum", "owner")).toEqual([null, null, null, "ann"]);
    const counted = chat.map((item) => ({ ...item, tokens: 2 }));
    await store.append(ann, { records: counted, counter: "c" });
    expect(await store.readView(ann)).toMatchObject({ tokens: 8, counter: "c" });
  });

  it("without records leaves the total of tokens as it is, whether or not it names a counter", async () => {
    const counted = chat.map((item) => ({ ...item, tokens: 2 }));
    await store.append(session, { records: counted, counter: "c" });
    await store.append(session, { records: [], side: { set: { field: "x" } } });
    await store.append(session, { records: [], counter: "c" });
    await store.append(session, { records: counted.slice(2), counter: "c" });
    expect(await store.readView(session)).toMatchObject({ tokens: 8, counter: "c", next: 4 });
  });

  it("of side fields keeps its data key in the index of ids too, once there are records", async () => {
    const made = { key: "AAAAAAAA k1", dek: "wrapped" };
    const kept = () => client.hmget(keysOf("s").ids, "[key]", "[dek]");
    await store.append(
      { ...session, keys: { name: "AAAAAAAA", made } },
      { records: [], side: { set: { field: "x" } } },
    );
    expect(await kept()).toEqual([null, null]);
    await store.append({ ...session, keys: { name: "AAAAAAAA" } }, { records: chat });
    expect([await fieldsOf("s", "key"), await fieldsOf("s", "dek")]).toEqual([[made.key], [made.dek]]);
    expect(await kept()).toEqual([made.key, made.dek]);
  });

  it("of stored messages marks no turn, and one of none ends a turn that is open", async () => {
    await store.append(session, { records: chat.slice(0, 2) });
    await store.append(session, { records: chat.slice(0, 2), turn });
    expect(await storedTurn(store, session, turn.name)).toBeUndefined();
    await store.append(session, { records: chat.slice(2), turn: { ...turn, done: false } });
    await store.append(session, { records: [], turn: { ...turn, stored: 2 } });
    expect(await storedTurn(store, session, turn.name)).toMatchObject({ done: true, count: 2, first: 2 });
    const again = await store.append(session, { records: chat.slice(2), turn });
    expect(again.turn).toEqual({ done: true, count: 2, first: 2, records: texts(chat.slice(2)) });
  });

  it("of stored messages adds no usage of models", async () => {
    await store.append(session, { records: chat });
    const paid = { ...chat[1]!, usage: { model: "m", input: 1, output: 2, total: 3 } };
    await store.append(session, { records: [paid, chat[2]!] });
    expect(await fieldsOf("s", "usage")).toEqual([null]);
  });

  it("that gives a hold back keeps a session of side fields", async () => {
    await store.data.writeSide(session, { set: { field: "x" } });
    await store.data.acquireHold(session, hold);
    await store.data.releaseHold(session, "ticket");
    expect(await store.data.readSide(session, "")).toEqual({ field: "x" });
  });

  it("of a turn starts it anew where only the ids of its first life are left", async () => {
    await store.append(session, { records: [chat[0]!] });
    await store.append(session, { records: [chat[1]!], turn });
    await client.unlink(keysOf("s").log, keysOf("s").state);
    await store.append(session, { records: [chat[1]!], turn });
    expect(await storedTurn(store, session, turn.name)).toMatchObject({ count: 1, first: 0 });
  });

  it("of a record whose text only looks like a human message begins no round", async () => {
    const odd = '{"type":"hint","data":{"id":"h"}}';
    await store.append(session, { records: [...chat, { ...record("h"), record: odd }] });
    expect(await readLastRounds(store, session, 1)).toMatchObject({ records: [...texts(chat.slice(2)), odd] });
  });

  it("that copies a session gives the copy no ids without messages, and no owner but its own", async () => {
    await store.data.writeSide(session, { set: { one: "owner", two: "x" } });
    await forkOf(store, session, { id: "empty", owner: "ann" }, { copyRecord });
    expect(await client.exists(keysOf("empty").log, keysOf("empty").ids)).toBe(0);
    expect(await fieldsOf("empty", "next", "owner")).toEqual([null, "ann"]);
    await store.append(session, { records: chat });
    await forkOf(store, session, { id: "copy" }, { copyRecord });
    expect(await client.hexists(keysOf("copy").ids, "[owner]")).toBe(0);
    expect(await fieldsOf("copy", "discarded", "side:two")).toEqual([null, "x"]);
  });

  it("that reduces knows no total of tokens beside records that another counter counted, or none", async () => {
    const counted = chat.map((item) => ({ ...item, tokens: 2 }));
    await store.append(session, { records: counted, counter: "c" });
    const view = await store.readView(session);
    const commit = (start: number, counter: string) => ({
      ...{ start, head: "", headCount: 0, tokens: 4, counter, tokensRead: 8 },
    });
    await store.append(session, { records: [{ ...human("q3"), tokens: 2 }], counter: "c" });
    await store.commitReduction(session, { ...asRead(view), ...commit(2, "other") });
    expect(await store.readView(session)).toMatchObject({ start: 2, tokens: undefined, counter: "" });
    const last = await store.readView(session);
    await store.commitReduction(session, { ...asRead(last), ...commit(2, "c") });
    const later = await store.readView(session);
    await store.append(session, { records: [{ ...human("q5"), tokens: 2 }], counter: "c" });
    const untold = { ...commit(2, "c"), tokens: undefined };
    expect(await store.commitReduction(session, { ...asRead(later), ...untold })).toBe("committed");
    expect(await store.readView(session)).toMatchObject({ tokens: undefined, counter: "" });
    const uncounted = await store.readView(session);
    await store.append(session, { records: [human("q4")] });
    await store.commitReduction(session, { ...asRead(uncounted), ...commit(4, "c") });
    expect(await store.readView(session)).toMatchObject({ start: 4, tokens: undefined, counter: "" });
  });

  it("of conflicts that are kept is answered once more, whatever end of the log it expects", async () => {
    await store.append(session, { records: chat });
    const other = record("a1", { text: "other" });
    const request = { records: [other, human("q3")], onConflict: "keep", expectedNext: 4 } as const;
    expect(await store.append(session, request)).toMatchObject({ appended: 1, conflicts: [0] });
    expect(await store.append(session, request)).toMatchObject({ appended: 0, duplicates: 1, conflicts: [0] });
  });

  it("that replaces the end of the log is seen by a copy that runs beside it", async () => {
    await store.append(session, { records: chat });
    const before = (await store.copies.read(session))!;
    const cut = { ...asRead(await store.readView(session)), to: 3, forget: ["a2"] };
    await store.edits.replaceTail(session, { records: [record("a3")], cut });
    expect((await store.copies.read(session))!.cut).not.toBe(before.cut);
  });

  it("of a part of an open turn is not the append that stored all of it", async () => {
    const open = { ...turn, done: false };
    await store.append(session, { records: chat, turn: open });
    const part = await store.append(session, { records: chat.slice(0, 1), turn: open });
    expect(part.turn).toEqual({ done: false, count: 4, first: 0, records: texts(chat) });
    expect((await store.append(session, { records: chat, turn: open })).turn?.same).toBe(true);
  });

  it("that bounds side fields keeps the last ones by name of many", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `f:${30 - index}`);
    const set = Object.fromEntries(names.map((name) => [name, "x"]));
    await store.append(session, { records: chat, side: { set, bound: { prefix: "f:", keep: 7 } } });
    const kept = Object.keys(await store.data.readSide(session, ""));
    expect(kept.sort()).toEqual([...names].sort().slice(-7));
  });
});
