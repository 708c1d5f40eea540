import { readLog } from "../../src/store/contract/session-pages.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { ownerField } from "../../src/store/redis/stored-fields.js";
import { storedTurn, asRead, forkOf, human, record, records, texts } from "../../testing/session-store/store-case.js";
import type { SideChanges } from "../../src/store/contract/side-fields.js";
import type { NewRecord } from "../../src/store/contract/session-writes.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { identify } from "../support/store-commands.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
const copyRecord = (text: string) => ({ record: text, identity: identify(text) });
const hold = { ticket: "ticket", holdMs: 60_000, graceMs: 1_000 };

describe("What Redis keeps of a session", () => {
  const client = sharedClient();
  let keyPrefix: string;
  let store: RedisSessionStore;
  const keysOf = (id: string) => sessionKeys(keyPrefix, id);
  const lives = (id: string) => {
    const { log, ids, state } = keysOf(id);
    return Promise.all([log, ids, state].map((key) => client.pttl(key)));
  };
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
  });

  it("expires where a hold has begun it, whose writer never writes", async () => {
    await store.data.acquireHold(session, { ...hold, ttlMs: 3_600_000 });
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

  it("has no ids where an owner only wrote side fields", async () => {
    const ann = { ...session, owner: "ann" };
    await store.data.writeSide(ann, { set: { field: "x" } });
    expect(await client.exists(keysOf("s").ids)).toBe(0);
    await store.append(ann, { records: chat });
    expect(await client.hget(keysOf("s").ids, ownerField)).toBe("ann");
  });

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

  it("counts on with tokens of models whose field was overwritten", async () => {
    const used = (item: NewRecord) => ({ ...item, usage: { model: "m", input: 1, output: 2, total: 3 } });
    await store.append(session, { records: [used(chat[0]!)] });
    await client.hset(keysOf("s").state, "usage", "junk\nm\t1\t2\t3\nm\t1\t2\tx");
    await store.append(session, { records: [used(chat[1]!)] });
    expect(await client.hget(keysOf("s").state, "usage")).toBe("m\t2\t4\t6");
  });

  it("knows turns of discarded messages", async () => {
    const names = ["turn-name-0001", "turn-name-0002"] as const;
    const parts = [chat.slice(0, 2), chat.slice(2)];
    for (const [index, name] of names.entries()) {
      const ofTurn = (item: NewRecord) => ({ ...item, record: `${item.record.slice(0, -1)},"turn":"${name}"}` });
      await store.append(session, { records: parts[index]!.map(ofTurn), turn: { name, stored: 0, done: true } });
    }
    await store.append(session, { records: [human("q3")] });
    const view = await store.readView(session);
    const reduced = { ...asRead(view), start: 4, head: "", headCount: 0, discard: true };
    await store.commitReduction(session, reduced);
    await store.edits.rebuild(session, identify);
    for (const name of names) {
      expect(await storedTurn(store, session, name)).toMatchObject({ done: true, count: 2, records: [] });
    }
    expect(await store.append(session, { records: chat })).toMatchObject({ appended: 0, duplicates: 4 });
    expect((await readLog(store, session)).records).toEqual(texts([human("q3")]));
  });

  it("has no total of tokens after a reduction that knew none, also beside appends", async () => {
    await store.append(session, { records: chat });
    const view = await store.readView(session);
    await store.append(session, { records: [human("q3")] });
    const reduced = { ...asRead(view), start: 2, head: "", headCount: 0, counter: "c" };
    await store.commitReduction(session, reduced);
    expect(await client.hmget(keysOf("s").state, "start", "tokens", "counter")).toEqual(["2", null, null]);
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

  it("is neither a log nor ids where a copy has no message", async () => {
    await store.data.writeSide(session, { set: { field: "x" } });
    await forkOf(store, session, { id: "copy" }, { copyRecord });
    const { log, ids, state } = keysOf("copy");
    expect([await client.exists(log, ids), await client.exists(state)]).toEqual([0, 1]);
  });

  it("keeps a summary of discarded messages where everything behind it is rewound", async () => {
    await store.append(session, { records: chat });
    const discard = true;
    const reduced = { ...asRead(await store.readView(session)), start: 2, head: "summary", headCount: 1, discard };
    await store.commitReduction(session, reduced);
    const forget = chat.slice(2).map(({ id }) => id);
    await store.edits.rewind(session, { ...asRead(await store.readView(session)), to: 2, forget });
    expect(await store.readView(session)).toMatchObject({
      head: "summary",
      headCount: 1,
      base: 2,
      next: 2,
      records: [],
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

  it("has a line of those that wait without the one that took the hold", async () => {
    const wish = (ticket: string) => store.data.acquireHold(session, { ...hold, graceMs: 60_000, ticket });
    await wish("first");
    expect([await wish("second"), await wish("third")]).toMatchObject([{ ahead: 0 }, { ahead: 1 }]);
    await store.data.releaseHold(session, "first");
    expect(await wish("third")).toMatchObject({ isHeld: false, ahead: 1 });
    expect(await wish("second")).toMatchObject({ isHeld: true });
    expect(await wish("third")).toMatchObject({ isHeld: false, ahead: 0 });
    expect(await client.hget(keysOf("s").state, "waiters")).toMatch(/^third \d+$/);
    await store.data.releaseHold(session, "second");
    expect(await wish("third")).toMatchObject({ isHeld: true });
    expect(await client.hget(keysOf("s").state, "waiters")).toBeNull();
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

  it("is not seen as a whole where its beginning left the view, also without a head", async () => {
    await store.append(session, { records: chat });
    const isWhole = async () => (await store.data.readStats(session))?.isWhole;
    expect(await isWhole()).toBe(true);
    const reduced = async () => ({ ...asRead(await store.readView(session)), start: 2, head: "", headCount: 0 });
    await store.commitReduction(session, await reduced());
    expect(await isWhole()).toBe(false);
    await store.commitReduction(session, { ...(await reduced()), discard: true });
    expect(await isWhole()).toBe(false);
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

  it("has a line that stays while its first takes the hold", async () => {
    const wish = (ticket: string) => store.data.acquireHold(session, { ...hold, graceMs: 60_000, ticket });
    for (const ticket of ["first", "second", "third"]) {
      await wish(ticket);
    }
    await store.data.releaseHold(session, "first");
    expect(await wish("second")).toMatchObject({ isHeld: true });
    expect(await wish("fourth")).toMatchObject({ isHeld: false, ahead: 1 });
  });

  it("is held by the writer of a turn that is open, and by nobody for one that is done", async () => {
    const name = "turn-name-0001";
    const take = { ...hold, ticket: "reader" };
    await store.append(session, { records: chat.slice(0, 1), turn: { name, stored: 0, done: false } });
    expect((await store.readView(session, { turn: name, take })).place).toMatchObject({ isHeld: true });
    await store.data.releaseHold(session, "reader");
    await store.append(session, { records: chat.slice(1), turn: { name, stored: 1, done: true } });
    expect((await store.readView(session, { turn: name, take })).place).toBeUndefined();
  });

  it("has no time of its beginning or of its last write where none is kept", async () => {
    await store.append(session, { records: chat });
    await client.hdel(keysOf("s").state, "created", "updated");
    const stats = await store.data.readStats(session);
    expect([stats?.createdAt, stats?.updatedAt]).toEqual([undefined, undefined]);
  });
});
