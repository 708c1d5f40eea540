import { readLog } from "../../src/store/contract/session-data.js";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { sessionKeys, type SessionKeys, idHash } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { asRead, human, record, texts, forkOf, records } from "../../testing/session-store/store-case.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import type { NewRecord, AppendRequest } from "../../src/store/contract/session-writes.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { identify as identifyRecord } from "../support/store-commands.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
const inThreeRounds = [...chat, human("q3"), record("a3")];
const other = record("b2");
const identify = (text: string) => [...inThreeRounds, other].find((item) => item.record === text);

const client = sharedClient();
let store: RedisSessionStore;
let keyPrefix: string;
let keys: SessionKeys;
beforeEach(() => {
  keyPrefix = uniquePrefix();
  store = new RedisSessionStore({ client, keyPrefix });
  keys = sessionKeys(keyPrefix, "s");
});

describe("What a rebuild leaves in Redis", () => {
  const lives = () => Promise.all([keys.log, keys.ids, keys.state].map((key) => client.pttl(key)));

  it("is nothing where only ids were left", async () => {
    await store.append(session, { records: chat });
    await client.unlink(keys.log, keys.state);
    await store.edits.rebuild(session, identify);
    expect(await client.exists(keys.log, keys.ids, keys.state)).toBe(0);
  });

  it("has no ids without a message", async () => {
    for (const owner of [undefined, "ann"]) {
      await store.data.writeSide({ ...session, ...(owner && { owner }) }, { set: { note: "x" } });
      await store.edits.rebuild(session, identify);
      expect(await client.exists(keys.log, keys.ids)).toBe(0);
    }
  });

  it("keeps the data key in both hashes, of which one may be lost, and makes none", async () => {
    await store.append(session, { records: chat });
    await store.edits.rebuild(session, identify);
    expect(await client.hexists(keys.state, "key")).toBe(0);
    const made = { key: "AAAAAAAA k1 plain", dek: "wrapped" };
    await store.append(
      { ...session, keys: { name: "AAAAAAAA", made: { ...made, key: "AAAAAAAA k1" } } },
      { records: [human("q9")] },
    );
    for (const part of ["state", "ids"] as const) {
      await client.unlink(keys[part]);
      await store.edits.rebuild({ ...session, keys: { name: "AAAAAAAA" } }, identify);
      expect(await client.hmget(keys.state, "key", "dek")).toEqual([made.key, made.dek]);
      expect(await client.hmget(keys.ids, "[key]", "[dek]")).toEqual([made.key, made.dek]);
    }
  });

  it("expires like the log, or never", async () => {
    await store.append(session, { records: chat });
    await client.pexpire(keys.state, 60_000);
    await store.edits.rebuild(session, identify);
    expect(await lives()).toEqual([-1, -1, -1]);
    await client.pexpire(keys.log, 60_000);
    await store.edits.rebuild(session, identify);
    const found = await lives();
    expect(Math.min(...found)).toBeGreaterThan(30_000);
    expect(Math.max(...found)).toBeLessThanOrEqual(60_000);
  });

  it("knows what another process wrote while the log was read", async () => {
    await store.append(session, { records: chat });
    let isFirst = true;
    const slow = interceptedClient(client, async (send, args) => {
      if (isFirst && args.some((arg) => String(arg).includes('"newRev"'))) {
        isFirst = false;
        await store.edits.rewind(session, { ...asRead(await store.readView(session)), to: 3, forget: ["a2"] });
        await store.append(session, { records: [other] });
      }
      return send();
    });
    await new RedisSessionStore({ client: slow, keyPrefix }).edits.rebuild(session, identify);
    expect(isFirst).toBe(false);
    const written = [...chat.slice(0, 3), other];
    expect(await store.append(session, { records: written })).toMatchObject({ appended: 0, duplicates: 4 });
    expect((await readLog(store, session)).records).toEqual(texts(written));
  });

  it("is the same if it is carried out twice, of a session that has no owner", async () => {
    await store.append(session, { records: chat });
    await client.unlink(keys.state);
    const twice = interceptedClient(client, async (send, args) => {
      await (args.some((arg) => String(arg).includes('"newRev"')) && send());
      return send();
    }) as unknown as RedisClient;
    await new RedisSessionStore({ client: twice, keyPrefix }).edits.rebuild(session, identify);
    expect(await store.readView(session)).toMatchObject({ damaged: false, records: texts(chat) });
  });
});

const huge = "99999999999999";

/** The numbers of a session: those of six messages in three rounds, of which a summary stands for four. */
const sound = {
  ...{ base: "0", start: "4", next: "6", rounds: "3", head: "summary", headCount: "1" },
  ...{ tokens: "7", counter: "c", fence: "5" },
};
type Numbers = Partial<Record<keyof typeof sound, string | null>>;

const whole: readonly (readonly [what: string, damage: Numbers, mended: Numbers])[] = [
  ["nothing is wrong", {}, {}],
  ["a fence that is no number", { fence: "x" }, { fence: null }],
  ["a fence beyond all positions", { fence: huge }, { fence: huge }],
  ["a start beyond all positions", { start: huge }, { start: "0" }],
  ["a start that is no number", { start: "x" }, { start: "0" }],
  ["a start behind the end", { start: "7" }, { start: "0", head: null, headCount: null, tokens: null, counter: null }],
  [
    "a start behind the end, and a count of heads that is no number",
    { start: "7", headCount: "x" },
    { start: "0", head: null, headCount: null, tokens: null, counter: null },
  ],
  ["a start at the end", { start: "6" }, { start: "6" }],
  ["fewer rounds than there are", { rounds: "2" }, { rounds: "3" }],
  ["more rounds than there are, of messages before these", { rounds: "5" }, { rounds: "5" }],
  ["as many rounds as messages", { rounds: "6" }, { rounds: "6" }],
  ["more rounds than messages", { rounds: "7" }, { rounds: "3" }],
  ["rounds that are no number", { rounds: "-" }, { rounds: "3" }],
  ["tokens that are no number", { tokens: "x" }, { tokens: null, counter: null }],
  ["a count of heads that is no number", { headCount: "x" }, { headCount: "1" }],
  ["a count of heads that is no number, and an empty head", { headCount: "x", head: "" }, { headCount: "0", head: "" }],
  ["a count of heads that is no number, and no head", { headCount: "x", head: null }, { headCount: "0", head: null }],
  ["no count of heads", { headCount: null }, { headCount: null }],
  ["no base", { base: null }, { base: "0" }],
  ["a base that is no number", { base: "x" }, { base: "0", tokens: null, counter: null }],
  ["a base that is none of that log", { base: "2" }, { base: "2", next: "8", tokens: null, counter: null }],
  ["a base beyond all positions", { base: "49999999999999" }, { base: "0", tokens: null, counter: null }],
  ["no base, and a higher end", { base: null, next: "9" }, { base: "3", next: "9", tokens: null, counter: null }],
  ["no base, and a lower end", { base: null, next: "5" }, { base: "0", tokens: null, counter: null }],
  ["a lower end, and rounds of more messages", { next: "5", rounds: "5" }, { tokens: null, counter: null }],
  ["no end", { next: null }, { tokens: null, counter: null }],
];

describe("The numbers of a session, by a rebuild", () => {
  /** Has read nothing of the session. */
  let stranger: RedisSessionStore;
  beforeEach(async () => {
    // It knows where the view begins, and keeps none: a kept one is proven without these numbers.
    store = new RedisSessionStore({ client, keyPrefix, viewCacheBytes: 0 });
    stranger = new RedisSessionStore({ client, keyPrefix });
    await store.append({ id: "s", hold: { epoch: "", token: 5 } }, { records: inThreeRounds });
    const view = await store.readView({ id: "s" });
    const reduced = { start: 4, head: "summary", headCount: 1, tokens: 7, counter: "c" };
    await store.commitReduction({ id: "s" }, { ...asRead(view), ...reduced });
  });

  const names = Object.keys(sound) as (keyof typeof sound)[];
  const stored = async () => {
    const values = await client.hmget(keys.state, ...names);
    return Object.fromEntries(names.map((name, at) => [name, values[at]]));
  };
  async function damaged(numbers: Numbers): Promise<void> {
    for (const [name, value] of Object.entries(numbers)) {
      await (value === null ? client.hdel(keys.state, name) : client.hset(keys.state, name, value));
    }
  }

  it.each(whole)("keeps what is sound of them: %s", async (_, damage, mended) => {
    await damaged(damage);
    for (const reader of [store, stranger]) {
      expect((await reader.readView({ id: "s" })).records).toEqual(texts(inThreeRounds.slice(await firstSeen())));
    }
    expect(await store.data.readStats({ id: "s" })).toMatchObject({ damaged: await areWrong() });
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await stored()).toEqual({ ...sound, ...damageKept(damage), ...mended });
    expect((await readLog(store, { id: "s" })).records).toEqual(texts(inThreeRounds));
    expect(await store.append({ id: "s" }, { records: [...inThreeRounds, human("q4")] })).toMatchObject({
      appended: 1,
    });
  });

  /** The first message of the view: that at the start, and the first of all where the numbers cannot be right. */
  async function firstSeen(): Promise<number> {
    const { base, start, next, headCount, tokens } = await stored();
    const number = (text: string | null | undefined) => (/^\d+$/.test(text ?? "0") ? Number(text ?? 0) : NaN);
    const isSound = number(base) <= number(start) && number(start) <= number(next) && number(start) <= 5e13;
    return isSound && next && !Number.isNaN(number(headCount) + number(tokens)) ? number(start) - number(base) : 0;
  }

  /** Whether the numbers can be those of the log. */
  async function areWrong(): Promise<boolean> {
    const fields = await stored();
    const values = ["base", "start", "next", "headCount", "rounds", "fence"].map((name) => fields[name] ?? "0");
    const [base, start, next, , rounds] = values.map(Number) as [number, number, number, number, number];
    const areNumbers = values.every((text, at) => /^\d+$/.test(text) && (at === 5 || Number(text) <= 5e13));
    const isInOrder = base <= start && start <= next && rounds <= next && next - base === inThreeRounds.length;
    return !areNumbers || !isInOrder || Number.isNaN(Number(fields["tokens"] ?? 0));
  }

  /** A field that was taken away or changed is mended where the row says nothing else: then it is as it was. */
  function damageKept(damage: Numbers): Numbers {
    return Object.fromEntries(Object.keys(damage).map((name) => [name, sound[name as keyof typeof sound]]));
  }

  it("counts rounds anew where messages are missing", async () => {
    await damaged({ base: "0" });
    await client.ltrim(keys.log, 2, -1);
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await stored()).toMatchObject({ base: "0", next: "4", start: "4", rounds: "2", tokens: null });
  });

  it("goes on behind the last position where the log is lost", async () => {
    await client.unlink(keys.log);
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await stored()).toMatchObject({ base: "6", next: "6", start: "6", rounds: "3", head: "summary" });
  });

  it("stay at the base where the log and its end are lost", async () => {
    await client.unlink(keys.log);
    await damaged({ base: "4", next: "x" });
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await stored()).toMatchObject({ base: "4", next: "4", start: "4", rounds: "3", head: "summary" });
  });

  it("are gone where neither the log nor its end is left", async () => {
    await client.unlink(keys.log);
    await client.hdel(keys.state, "next");
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await stored()).toEqual({ ...Object.fromEntries(names.map((name) => [name, null])), fence: "5" });
    expect(await store.append({ id: "s" }, { records: inThreeRounds })).toMatchObject({ appended: 6, next: 6 });
  });

  it("keep the place of a log whose beginning was discarded", async () => {
    const view = await store.readView({ id: "s" });
    const discard = true;
    await store.commitReduction({ id: "s" }, { ...asRead(view), start: 4, head: "", headCount: 0, discard });
    const seen: readonly (readonly [Numbers, readonly NewRecord[]])[] = [
      [{ base: null }, []],
      [{ base: "x" }, inThreeRounds.slice(4)],
      [{ start: "1" }, inThreeRounds.slice(4)],
      [{ start: "3" }, inThreeRounds.slice(4)],
      [{ start: "1", base: null }, inThreeRounds.slice(5)],
    ];
    for (const [numbers, left] of seen) {
      await damaged(numbers);
      expect(await store.readView({ id: "s" })).toMatchObject({ damaged: true, records: texts(left) });
      const anew = new RedisSessionStore({ client, keyPrefix });
      expect(await anew.readView({ id: "s" })).toMatchObject({ damaged: true, records: texts(left) });
      await store.edits.rebuild({ id: "s" }, identify);
      expect(await stored()).toMatchObject({ base: "4", start: "4", next: "6", rounds: "1" });
    }
  });
});

const counted = [human("q1"), record("a1"), human("q2"), record("a2")].map((item) => ({ ...item, tokens: 2 }));
const identifyCounted = (text: string) => counted.find((item) => item.record === text);
const turnName = "turn-name-0001";

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
    const copyRecord = (text: string) => ({ record: text, identity: identifyRecord(text) });
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
