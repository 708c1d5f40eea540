import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { ownerField } from "../../src/store/redis/stored-fields.js";
import { asRead, forkOf, human, record, records, texts } from "../../testing/session-store/store-case.js";
import type { SideChanges, NewRecord } from "../../src/store/contract/session-writes.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { identify } from "../support/store-commands.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
const copyRecord = (text: string) => ({ record: text, identity: identify(text) });
const hold = { ticket: "ticket", holdMs: 60_000, graceMs: 1_000 };

const client = sharedClient();
let keyPrefix: string;
let store: RedisSessionStore;
const keysOf = (id: string) => sessionKeys(keyPrefix, id);
beforeEach(() => {
  keyPrefix = uniquePrefix();
  store = new RedisSessionStore({ client, keyPrefix });
});

describe("What Redis keeps of a session", () => {
  const lives = (id: string) => {
    const { log, ids, state } = keysOf(id);
    return Promise.all([log, ids, state].map((key) => client.pttl(key)));
  };

  it("names the owner beside the ids of a copy, and of messages that were nobody's before", async () => {
    await store.append(session, { records: chat });
    await forkOf(store, session, { id: "of ann", owner: "ann" }, { copyRecord });
    await forkOf(store, session, { id: "of nobody" }, { copyRecord });
    expect(await client.hget(keysOf("of ann").ids, ownerField)).toBe("ann");
    expect(await client.hexists(keysOf("of nobody").ids, ownerField)).toBe(0);
    expect(await store.data.readStats({ id: "of nobody" })).toMatchObject({ messages: 4, rounds: 2 });
    expect((await store.append({ id: "of ann", owner: "ann" }, { records: chat })).duplicates).toBe(4);
    await store.append({ ...session, owner: "ben" }, { records: [human("q3")] });
    expect(await client.hget(keysOf("s").ids, ownerField)).toBe("ben");
  });

  it("keeps a tombstone for the longest time that an erasure asked for", async () => {
    await store.append(session, { records: chat, ttlMs: 7_200_000 });
    expect(await store.lists.erase(session, { guardMs: 3_600_000 })).toBe(true);
    expect(await store.lists.erase(session, { guardMs: 1_000 })).toBe(false);
    const [, , left] = await lives("s");
    expect(left).toBeGreaterThan(3_000_000);
    expect(left).toBeLessThanOrEqual(3_600_000);
  });

  it("keeps expiry, fence, holder and waiters where its holder clears it", async () => {
    await store.append(session, { records: chat, ttlMs: 3_600_000 });
    const place = await store.data.acquireHold(session, hold);
    await store.data.acquireHold(session, { ...hold, ticket: "other" });
    const fields = () => client.hmget(keysOf("s").state, "fence", "holder", "waiters");
    const before = await fields();
    expect(before).not.toContain(null);
    await store.clear({ ...session, ...(place.isHeld && { hold: place.hold }) });
    expect(await fields()).toEqual(before);
    const [log, , state] = await lives("s");
    expect(log).toBe(-2);
    expect(state).toBeGreaterThan(3_000_000);
    expect(state).toBeLessThanOrEqual(3_600_000);
  });

  it("counts on with tokens of models whose field was overwritten", async () => {
    const used = (item: NewRecord) => ({ ...item, usage: { model: "m", input: 1, output: 2, total: 3 } });
    await store.append(session, { records: [used(chat[0]!)] });
    await client.hset(keysOf("s").state, "usage", "junk\nm\t1\t2\t3\nm\t1\t2\tx");
    await store.append(session, { records: [used(chat[1]!)] });
    expect(await client.hget(keysOf("s").state, "usage")).toBe("m\t2\t4\t6");
  });

  it("takes the data key of a writer that wrote something, not of one that removed side fields", async () => {
    const write = (name: string, changes: SideChanges) => {
      const made = { key: `${name} k1`, dek: "wrapped" };
      return store.data.writeSide({ ...session, keys: { name, made } }, changes);
    };
    const named = () => client.hmget(keysOf("s").state, "key", "dek");
    await store.data.writeSide(session, { set: { other: "y" } });
    await write("AAAAAAAA", { remove: ["field"] });
    expect(await named()).toEqual([null, null]);
    await write("BBBBBBBB", { set: { field: "x" } });
    expect(await named()).toEqual(["BBBBBBBB k1 plain", "wrapped"]);
  });

  it("says how its ids are read: briefly where they are few, and in a long text where they are a table", async () => {
    const explained = async (id: string) => {
      const [text, encoding] = await Promise.all([
        client.hget(keysOf(id).ids, "[how to read:]"),
        client.call("OBJECT", "ENCODING", keysOf(id).ids),
      ]);
      const form = encoding === "hashtable" ? "table" : "compact";
      return `${text!.startsWith("id: ") ? "brief" : text!.startsWith("SHA-256") ? "long" : "neither"}, ${form}`;
    };
    const seen: Record<number, string[]> = {};
    for (const count of [31, 32, 33, 60]) {
      const [together, single] = [`together ${count}`, `single ${count}`];
      await store.append({ id: together }, { records: records("m", count) });
      for (const item of records("m", count)) {
        await store.append({ id: single }, { records: [item] });
      }
      await forkOf(store, { id: together }, { id: `copy ${count}` }, { copyRecord });
      await store.append({ id: `rebuilt ${count}` }, { records: records("m", count) });
      await client.unlink(keysOf(`rebuilt ${count}`).ids);
      await store.edits.rebuild({ id: `rebuilt ${count}` }, identify);
      seen[count] = await Promise.all([together, single, `copy ${count}`, `rebuilt ${count}`].map(explained));
    }
    const [brief, long] = ["brief, compact", "long, table"];
    expect(seen).toEqual({
      31: [brief, brief, brief, brief],
      32: [brief, long, brief, long],
      33: [long, long, long, long],
      60: [long, long, long, long],
    });
  });

  it("counts fences on from one that is ahead of the clock", async () => {
    await store.append(session, { records: chat });
    const ahead = 2 ** 52;
    await client.hset(keysOf("s").state, "fence", String(ahead));
    const place = await store.data.acquireHold(session, hold);
    expect(place).toMatchObject({ isHeld: true, hold: { token: ahead + 1 } });
    await store.data.releaseHold(session, "ticket");
    const take = { ...hold, ticket: "next" };
    const { place: taken } = await store.append(session, { records: [human("q3")], take });
    expect(taken).toMatchObject({ hold: { token: ahead + 2 } });
  });

  it("keeps its side fields where a hold is given back and no message was stored", async () => {
    await store.data.writeSide(session, { set: { field: "x" } });
    await store.data.acquireHold(session, hold);
    await store.data.releaseHold(session, "ticket");
    expect(await store.data.readSide(session, "")).toEqual({ field: "x" });
  });

  it("is gone where all of it is rewound, with the head in front", async () => {
    await store.append(session, { records: chat });
    const reduced = { ...asRead(await store.readView(session)), start: 2, head: "summary", headCount: 1 };
    await store.commitReduction(session, reduced);
    const forget = chat.map(({ id }) => id);
    await store.edits.rewind(session, { ...asRead(await store.readView(session)), to: 0, forget });
    const { log, ids, state } = keysOf("s");
    expect(await client.exists(log, ids, state)).toBe(0);
  });

  it("names times and fences by the server's clock, to the millisecond and the microsecond", async () => {
    await store.append(session, { records: chat });
    const micros = async () => {
      const [seconds, rest] = await client.time();
      return Number(seconds) * 1_000_000 + Number(rest);
    };
    const before = await micros();
    await store.data.acquireHold(session, hold);
    const after = await micros();
    const [, ends, fence] = (await client.hget(keysOf("s").state, "holder"))!.split(" ").map(Number);
    expect(fence).toBeGreaterThanOrEqual(before);
    expect(fence).toBeLessThanOrEqual(after);
    expect(ends! - hold.holdMs).toBeGreaterThanOrEqual(Math.floor(before / 1_000));
    expect(ends! - hold.holdMs).toBeLessThanOrEqual(after / 1_000);
  });

  it("has no time of its beginning or of its last write where none is kept", async () => {
    await store.append(session, { records: chat });
    await client.hdel(keysOf("s").state, "created", "updated");
    const stats = await store.data.readStats(session);
    expect([stats?.createdAt, stats?.updatedAt]).toEqual([undefined, undefined]);
  });
});

const turn = { name: "turn-name-0001", stored: 0, done: true };

describe("A rare write to a session", () => {
  const fieldsOf = (id: string, ...names: string[]) => client.hmget(keysOf(id).state, ...names);

  it("of side fields only begins neither log nor ids, and no position", async () => {
    const ann = { ...session, owner: "ann" };
    await store.append(ann, { records: [], side: { set: { field: "x" } }, turn });
    expect(await client.exists(keysOf("s").log, keysOf("s").ids)).toBe(0);
    expect(await fieldsOf("s", "next", "rounds", "sum", "owner")).toEqual([null, null, null, "ann"]);
    const counted = chat.map((item) => ({ ...item, tokens: 2 }));
    await store.append(ann, { records: counted, counter: "c" });
    expect(await store.readView(ann)).toMatchObject({ tokens: 8, counter: "c" });
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

  it("that replaces the end of the log is seen by a copy that runs beside it", async () => {
    await store.append(session, { records: chat });
    const before = (await store.copies.read(session))!;
    const cut = { ...asRead(await store.readView(session)), to: 3, forget: ["a2"] };
    await store.edits.replaceTail(session, { records: [record("a3")], cut });
    expect((await store.copies.read(session))!.cut).not.toBe(before.cut);
  });
});
