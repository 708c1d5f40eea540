import { Redis } from "ioredis";
import { sessionKeys } from "../../src/redis/keys.js";
import { RedisSessionStore } from "../../src/redis-store/redis-session-store.js";
import { ownerField } from "../../src/redis/stored-fields.js";
import { asRead, forkOf, human, record, texts } from "../../testing/session-store/store-case.js";
import type { NewRecord } from "../../src/store/session-writes.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { identify } from "../support/store-commands.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
const copyRecord = (text: string) => ({ record: text, identity: identify(text) });
const hold = { ticket: "ticket", holdMs: 60_000, graceMs: 1_000 };

describe("What Redis keeps of a session", () => {
  let client: Redis;
  let keyPrefix: string;
  let store: RedisSessionStore;
  const keysOf = (id: string) => sessionKeys(keyPrefix, id);
  const lives = (id: string) => {
    const { log, ids, state } = keysOf(id);
    return Promise.all([log, ids, state].map((key) => client.pttl(key)));
  };
  beforeAll(() => {
    client = new Redis(sharedRedisUrl());
  });
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
  });
  afterAll(() => client.disconnect());

  it("expires where a hold has begun it, whose writer never writes", async () => {
    await store.beside.takeHold(session, { ...hold, ttlMs: 3_600_000 });
    const [, , left] = await lives("s");
    expect(left).toBeGreaterThan(3_000_000);
    expect(left).toBeLessThanOrEqual(3_600_000);
  });

  it("keeps expiry, fence, holder and waiters where its holder clears it", async () => {
    await store.append(session, { records: chat, ttlMs: 3_600_000 });
    const place = await store.beside.takeHold(session, hold);
    await store.beside.takeHold(session, { ...hold, ticket: "other" });
    const fields = () => client.hmget(keysOf("s").state, "fence", "holder", "waiters");
    const before = await fields();
    expect(before).not.toContain(null);
    await store.beside.restart({ ...session, ...(place.isHeld && { hold: place.hold }) });
    expect(await fields()).toEqual(before);
    const [log, , state] = await lives("s");
    expect(log).toBe(-2);
    expect(state).toBeGreaterThan(3_000_000);
    expect(state).toBeLessThanOrEqual(3_600_000);
  });

  it("has no ids where an owner only wrote side fields", async () => {
    const ann = { ...session, owner: "ann" };
    await store.beside.writeSide(ann, { set: { field: "x" } });
    expect(await client.exists(keysOf("s").ids)).toBe(0);
    await store.append(ann, { records: chat });
    expect(await client.hget(keysOf("s").ids, ownerField)).toBe("ann");
  });

  it("names the owner of a copy beside its ids, and is a copy without one if nobody has it", async () => {
    await store.append(session, { records: chat });
    await forkOf(store, session, { id: "of ann", owner: "ann" }, { copyRecord });
    await forkOf(store, session, { id: "of nobody" }, { copyRecord });
    expect(await client.hget(keysOf("of ann").ids, ownerField)).toBe("ann");
    expect(await client.hexists(keysOf("of nobody").ids, ownerField)).toBe(0);
    expect((await store.append({ id: "of ann", owner: "ann" }, { records: chat })).duplicates).toBe(4);
  });

  it("keeps a tombstone for the longest time that an erasure asked for", async () => {
    await store.append(session, { records: chat });
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

  it("remembers turns of discarded messages in a copy", async () => {
    const name = "turn-name-0001";
    const items = chat.map((item) => ({ ...item, record: `${item.record.slice(0, -1)},"turn":"${name}"}` }));
    await store.append(session, { records: items, turn: { name, stored: 0, done: true } });
    await store.append(session, { records: [human("q3")] });
    const view = await store.readView(session);
    const discard = { forget: chat.map(({ id }) => id), turns: [name], remember: { count: 9, seconds: 600 } };
    await store.commitReduction(session, { ...asRead(view), start: 4, head: "", headCount: 0, discard });
    await forkOf(store, session, { id: "copy" }, { copyRecord });
    expect(await store.beside.readTurn({ id: "copy" }, name)).toMatchObject({ done: true, records: [] });
    expect(await client.hget(keysOf("copy").ids, name)).toBe("T00000000");
    expect(await store.append({ id: "copy" }, { records: chat })).toMatchObject({ appended: 0, duplicates: 4 });
    expect((await store.readLog({ id: "copy" })).records).toEqual(texts([human("q3")]));
  });
});
