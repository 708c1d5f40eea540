import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { idHash, sessionKeys, type SessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { AppendRequest } from "../../src/store/contract/session-writes.js";
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
    const discard = true;
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

  it("keeps of its ids those before its base when it is rebuilt, without values that cannot be read", async () => {
    const reduced = { ...asRead(await store.readView(session)), start: 2, head: "", headCount: 0, discard: true };
    await store.commitReduction(session, reduced);
    const [known, lost] = [idHash("known"), idHash("lost")];
    await client.hset(keys.ids, known, "digest-10", lost, "digest-1next", "other", "x", "turn-name-0009", "T00000021");
    await store.edits.rebuild(session, identify);
    const fields = await client.hgetall(keys.ids);
    expect(Object.keys(fields)).toEqual(expect.arrayContaining([known, "turn-name-0009", idHash("q1"), idHash("q2")]));
    expect(Object.keys(fields)).not.toEqual(expect.arrayContaining([lost]));
    expect(fields["other"]).toBeUndefined();
  });

  it("is no session to who asks for its details and names no owner, where its state is lost", async () => {
    await client.unlink(keys.state);
    expect(await store.lists.describe(session)).toBeUndefined();
    await expect(store.lists.describe({ ...session, owner: "ann" })).rejects.toMatchObject({ code: "damaged" });
  });

  it("is sound once it is erased", async () => {
    await store.lists.erase(session, { guardMs: 60_000 });
    expect(await readLastRounds(store, session, 1)).toMatchObject({ damaged: false, records: [] });
    expect(await store.data.readPage(session, { limit: 1 })).toMatchObject({ damaged: false, next: 0 });
  });
});
