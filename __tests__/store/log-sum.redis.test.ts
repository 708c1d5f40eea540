import { sessionKeys, logSum } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { replacing } from "../../testing/session-store/replaced-session.js";
import { asRead, human, record, texts } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

describe("The checksum of a log", () => {
  const client = sharedClient();

  const session = { id: "s" };
  const chat = [human("q1"), record("a1"), human("q2"), record("a2")];

  /** A session of four records, and how to read its checksum. */
  async function begun() {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({ client, keyPrefix });
    await store.append(session, { records: chat });
    const { log, ids, state } = sessionKeys(keyPrefix, "s");
    const sum = async () => Number(await client.hget(state, "sum"));
    const records = () => client.lrange(log, 0, -1);
    return { store, keyPrefix, sum, records, keys: [log, ids, state] as const };
  }

  it("is that of its records, however they were appended", async () => {
    const { store, keyPrefix, sum, records } = await begun();
    expect(await sum()).toBe(logSum(texts(chat)));
    await store.append(session, { records: [human("q3"), record("a3")] });
    expect(await sum()).toBe(logSum(await records()));
    const other = new RedisSessionStore({ client, keyPrefix });
    await other.append(session, { records: [human("q4")], turn: { name: "oneTurn-123456", stored: 0, done: true } });
    expect(await sum()).toBe(logSum(await records()));
    await store.append(session, { records: [record("a4"), record("a5")], side: { set: { notes: "1" } } });
    expect(await sum()).toBe(logSum(await records()));
    await store.append(session, { records: [record("a5")] });
    expect(await sum()).toBe(logSum(await records()));
    expect(await records()).toHaveLength(9);
  });

  it("goes on where a reader of a part goes on", () => {
    const all = texts(chat);
    expect(logSum(all.slice(1), logSum(all.slice(0, 1)))).toBe(logSum(all));
    expect(logSum([...all].reverse())).not.toBe(logSum(all));
  });

  it("stays where the log stays", async () => {
    const { store, sum } = await begun();
    const before = await sum();
    await store.commitReduction(session, {
      ...{ ...asRead(await store.readView(session)), start: 2, head: "[]", headCount: 1 },
      discard: true,
    });
    await store.append(session, { records: [human("q2")] });
    await store.append(session, { records: [], side: { set: { notes: "1" } } });
    expect(await sum()).toBe(before);
  });

  it("is another one after each other change of the log, also where the log becomes the same again", async () => {
    const { store, sum, records, keys } = await begun();
    const seen = [await sum()];
    const changed = async (change: () => Promise<unknown>) => {
      await change();
      const now = await sum();
      expect(now).toBeGreaterThan(0);
      expect(seen).not.toContain(now);
      seen.push(now);
    };
    const read = async () => asRead(await store.readView(session));
    await changed(async () => store.edits.rewind(session, { ...(await read()), to: 2, forget: ["q2", "a2"] }));
    await changed(() => store.append(session, { records: chat.slice(2) }));
    expect(await records()).toEqual(texts(chat));
    await changed(async () => {
      const cut = { ...(await read()), to: 3, forget: ["a2"] };
      await store.edits.replaceTail(session, { cut, records: chat.slice(3) });
    });
    await changed(() => store.append(session, { records: [record("a2"), record("a3")] }));
    await changed(() => store.edits.rebuild(session, () => undefined));
    await changed(() => client.del(keys[2]).then(() => store.edits.rebuild(session, () => undefined)));
    await changed(async () => {
      const was = (await store.copies.read(session))!;
      const stored = (await records()).map((text) => ({ ...record("x"), record: text.replace("a1", "another") }));
      expect(await store.copies.replace(session, replacing(was, { records: stored }))).toBe("replaced");
    });
    await store.append(session, { records: [human("q9"), record("a9")] });
    expect(await records()).toHaveLength(7);
  });

  it("is not begun by an append where it was lost", async () => {
    const { store, sum, keys } = await begun();
    await client.hdel(keys[2], "sum");
    await store.append(session, { records: [human("q3"), record("a3")] });
    expect(await sum()).toBe(0);
    await store.edits.rebuild(session, () => undefined);
    expect(await sum()).toBeGreaterThan(0);
  });
});
