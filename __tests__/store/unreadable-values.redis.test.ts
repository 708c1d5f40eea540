import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { idHash, sessionKeys, type SessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { AppendRequest } from "../../src/store/contract/session-writes.js";
import { asRead, human, record, forkOf, records, texts } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { readLog } from "../../src/store/contract/session-data.js";
import { identify } from "../support/store-commands.js";

const session = { id: "s" };
const counted = [human("q1"), record("a1"), human("q2"), record("a2")].map((item) => ({ ...item, tokens: 2 }));
const identifyCounted = (text: string) => counted.find((item) => item.record === text);
const turnName = "turn-name-0001";

const client = sharedClient();
let store: RedisSessionStore;
let keyPrefix: string;
let keys: SessionKeys;
beforeEach(() => {
  keyPrefix = uniquePrefix();
  store = new RedisSessionStore({ client, keyPrefix });
  keys = sessionKeys(keyPrefix, "s");
});

describe("A session with a value that nobody can have written", () => {
  beforeEach(() => store.append(session, { records: counted, counter: "c" }));

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
    await store.edits.rebuild(session, identifyCounted);
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

const chat = [human("q1"), record("a1"), human("q2"), record("a2")];

describe("The index of a session's ids", () => {
  it.each([
    ["is no number", "x"],
    ["is that of the next message", "4"],
    ["lies behind the end", "9"],
  ])("refuses what stands at a position that %s", async (_, position) => {
    await store.append(session, { records: chat });
    await client.hset(keys.ids, idHash("a2"), chat[3]!.digest + position);
    await expect(store.append(session, { records: chat.slice(3) })).rejects.toMatchObject({ code: "damaged" });
    expect((await readLog(store, session)).records).toEqual(texts(chat));
  });

  it("says nothing of a turn where all else of the session is lost", async () => {
    const request = { records: chat, turn: { name: turnName, stored: 0, done: true } };
    await store.append(session, request);
    await client.unlink(keys.log, keys.state);
    expect(await store.append(session, request)).toMatchObject({ appended: 4, duplicates: 0 });
    expect((await readLog(store, session)).records).toEqual(texts(chat));
  });

  it.each([
    [undefined, 10],
    ["ann", 10],
    [undefined, 60],
    ["ann", 60],
  ] as const)(
    "forgets all behind the place of a rewind that could not read it (owner %s, %i messages)",
    async (owner, count) => {
      const caller = { ...session, ...(owner && { owner }) };
      const list = records("m", count);
      await store.append(caller, { records: list });
      const to = count / 2;
      await store.edits.rewind(caller, { ...asRead(await store.readView(session)), to, forget: [] });
      expect(await store.append(caller, { records: list })).toMatchObject({ appended: to, duplicates: to });
      expect((await readLog(store, session)).records).toEqual(texts(list));
    },
  );

  it("is not copied from a damaged session", async () => {
    await store.append(session, { records: chat });
    await client.unlink(keys.ids);
    expect(await store.copies.read(session)).toMatchObject({ damaged: true });
    const copyRecord = (text: string) => ({ record: text, identity: identify(text) });
    await expect(forkOf(store, session, { id: "copy" }, { copyRecord })).rejects.toMatchObject({ code: "damaged" });
  });

  it("has no page around a message that is gone, or stands where none can", async () => {
    await store.append(session, { records: chat });
    const discard = true;
    const reduced = { ...asRead(await store.readView(session)), start: 1, head: "", headCount: 0, discard };
    await store.commitReduction(session, reduced);
    await client.hset(keys.ids, idHash("q2"), `${chat[2]!.digest}4`, idHash("a2"), `${chat[3]!.digest}9`);
    for (const id of ["unknown", "q1", "q2", "a2"]) {
      expect(await store.data.readPage(session, { around: id, limit: 1 })).toBeUndefined();
      expect(await store.data.readPage(session, { since: id, limit: 1 })).toBeUndefined();
    }
    expect(await store.data.readPage(session, { around: "a1", limit: 1 })).toMatchObject({ from: 1, to: 2 });
  });
});
