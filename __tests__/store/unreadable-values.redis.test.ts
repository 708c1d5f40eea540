import { idHash, sessionKeys, type SessionKeys } from "../../src/redis/keys.js";
import { RedisSessionStore } from "../../src/redis-store/redis-session-store.js";
import type { AppendRequest } from "../../src/store/session-writes.js";
import { asRead, human, record } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const session = { id: "s" };
const counted = [human("q1"), record("a1"), human("q2"), record("a2")].map((item) => ({ ...item, tokens: 2 }));
const identify = (text: string) => counted.find((item) => item.record === text);
const turnName = "turn-name-0001";

describe("A session with a value that nobody can have written", () => {
  const client = sharedClient();
  let store: RedisSessionStore;
  let keyPrefix: string;
  let keys: SessionKeys;
  beforeEach(async () => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    keys = sessionKeys(keyPrefix, "s");
    await store.append(session, { records: counted, counter: "c" });
  });

  /** Refused to a writer that knows the end of the log, and to one that has never seen the session. */
  async function expectDamaged(request: AppendRequest): Promise<void> {
    const before = await client.lrange(keys.log, 0, -1);
    for (const writer of [store, new RedisSessionStore({ client, keyPrefix })]) {
      await expect(writer.append(session, request)).rejects.toMatchObject({ code: "damaged" });
    }
    expect(await client.lrange(keys.log, 0, -1)).toEqual(before);
  }
  const next = { records: [{ ...human("n"), tokens: 1 }], counter: "c" };

  it.each([
    ...["0x0", "-0", "1.5", " 0", "99999999999999"].map((value) => ["start", value]),
    ...["2.5", "1e0"].map((value) => ["headCount", value]),
    ...["0x4", "4.0"].map((value) => ["next", value]),
    ...["5", "1e0"].map((value) => ["rounds", value]),
    ...["0x8", "1e999", "x8", "-8"].map((value) => ["tokens", value]),
    ...["7.5", "9007199254740994", "x"].map((value) => ["fence", value]),
  ])("is closed to writers: %s is %j", async (field, value) => {
    await client.hset(keys.state, field!, value!);
    await expectDamaged(next);
  });

  it("is closed to writers where it has lost its epoch", async () => {
    await client.hdel(keys.state, "epoch");
    await expectDamaged(next);
  });

  it("is closed to writers where its view begins before its log", async () => {
    const discard = { forget: ["q1", "a1"] };
    const reduced = { ...asRead(await store.readView(session)), start: 2, head: "", headCount: 0, discard };
    await store.commitReduction(session, reduced);
    await store.readView(session);
    await client.hset(keys.state, "start", "1");
    await expectDamaged(next);
  });

  it.each<[string, () => Promise<unknown>]>([
    ["more records", () => client.rpush(keys.log, "record")],
    ["fewer records", () => client.rpop(keys.log)],
    ["no log", () => client.unlink(keys.log)],
    ["fewer ids", () => client.hdel(keys.ids, idHash("q1"))],
    ["no ids", () => client.unlink(keys.ids)],
  ])("is closed to writers where Redis holds %s", async (_, lose) => {
    await lose();
    await expectDamaged(next);
  });

  it("is closed to a message whose place cannot be read, and open to others", async () => {
    await client.hset(keys.ids, idHash("q1"), "no place");
    await expectDamaged({ records: [counted[0]!] });
    await expect(store.append(session, next)).resolves.toMatchObject({ appended: 1 });
  });

  it.each([
    ["too far", "t000000199999999999999"],
    ["too short", "t1"],
    ["not a mark", "mark"],
  ])("is closed to a turn whose mark cannot be read (%s)", async (_, text) => {
    await client.hset(keys.ids, turnName, text);
    await expectDamaged({ ...next, turn: { name: turnName, stored: 1, done: true } });
    expect(await store.copies.readMarks(session, { turns: [turnName] })).toMatchObject({ turns: [undefined] });
  });

  it("remembers discarded messages in their order when it is rebuilt, without fields that cannot be read", async () => {
    const entry = (index: number) => `${idHash(`gone${index}`)}digest-${index % 10}${"1".repeat(10)}`;
    for (let number = 12; number > 0; number -= 1) {
      const junk = number === 5 ? "junk" : number === 7 ? "?".repeat(32) : undefined;
      await client.hset(keys.state, `discarded:${number}`, junk ?? entry(number));
    }
    await client.hset(keys.state, "discarded", "1 12 12", "turns", turnName.slice(1));
    await store.edits.rebuild(session, identify);
    const fields = await client.hgetall(keys.state);
    const kept = [1, 2, 3, 4, 6, 8, 9, 10, 11, 12].map(entry);
    const chunks = Object.entries(fields).filter(([name]) => name.startsWith("discarded:"));
    expect(Object.fromEntries(chunks)).toEqual(
      Object.fromEntries(kept.map((text, index) => [`discarded:${index + 1}`, text])),
    );
    expect([fields["discarded"], fields["turns"]]).toEqual(["1 10 10", undefined]);
    const discarded = await client.hmget(keys.ids, ...kept.map((text) => text.slice(0, 14)));
    expect(discarded).toEqual(kept.map((text) => `${text.slice(14, 22)}-1`));
  });

  it("has no discarded messages and turns after a rebuild that could read none", async () => {
    await client.hset(keys.state, "discarded", "1 1 1", "discarded:1", "junk", "turns", "turn name 0001");
    await store.edits.rebuild(session, identify);
    expect(await client.hmget(keys.state, "discarded", "discarded:1", "turns")).toEqual([null, null, null]);
    expect(await client.hlen(keys.ids)).toBe(counted.length + 1);
  });

  it("is no session to who asks for its details and names no owner, where its state is lost", async () => {
    await client.unlink(keys.state);
    expect(await store.lists.describe(session)).toBeUndefined();
    await expect(store.lists.describe({ ...session, owner: "ann" })).rejects.toMatchObject({ code: "damaged" });
  });

  it("is sound once it is erased", async () => {
    await store.lists.erase(session, { guardMs: 60_000 });
    expect(await store.beside.readRounds(session, 1)).toMatchObject({ damaged: false, records: [] });
    expect(await store.beside.readPage(session, { limit: 1 })).toMatchObject({ damaged: false, next: 0 });
  });
});
