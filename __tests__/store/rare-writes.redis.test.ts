import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { asRead, forkOf, human, record, texts } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { identify } from "../support/store-commands.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
const copyRecord = (text: string) => ({ record: text, identity: identify(text) });
const turn = { name: "turn-name-0001", stored: 0, done: true };

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

  it("of stored messages adds no usage of models", async () => {
    await store.append(session, { records: chat });
    const paid = { ...chat[1]!, usage: { model: "m", input: 1, output: 2, total: 3 } };
    await store.append(session, { records: [paid, chat[2]!] });
    expect(await fieldsOf("s", "usage")).toEqual([null]);
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
});
