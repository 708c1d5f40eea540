import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { asRead, human, record } from "../../testing/session-store/store-case.js";
import type { SideChanges } from "../../src/store/contract/side-fields.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
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

  it("keeps a tombstone for the longest time that an erasure asked for", async () => {
    await store.append(session, { records: chat, ttlMs: 7_200_000 });
    expect(await store.lists.erase(session, { guardMs: 3_600_000 })).toBe(true);
    expect(await store.lists.erase(session, { guardMs: 1_000 })).toBe(false);
    const [, , left] = await lives("s");
    expect(left).toBeGreaterThan(3_000_000);
    expect(left).toBeLessThanOrEqual(3_600_000);
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
});
