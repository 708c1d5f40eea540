import { openConnection } from "../../src/redis/connection.js";
import { ownerKeys, sessionKeys } from "../../src/redis/keys.js";
import { ScriptRunner } from "../../src/redis/script-runner.js";
import { announcement, type DescribedSession } from "../../src/redis-lists/entries.js";
import { OwnerLists, type PutMode } from "../../src/redis-lists/owner-lists.js";
import { RedisSessionStore } from "../../src/redis-store/redis-session-store.js";
import { record } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const owner = "ann";
const past = 1_700_000_000_000;

describe("The list of an owner in Redis", () => {
  const client = sharedClient();
  let runner: ScriptRunner;
  let store: RedisSessionStore;
  let lists: OwnerLists;
  let sessions: string;
  let summaries: string;
  let keyPrefix: string;
  beforeAll(() => {
    const connection = openConnection("the test", { client }, 60_000);
    runner = new ScriptRunner({ connection, commandTimeout: 60_000, waitReplicas: undefined, onEvent: undefined });
  });
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    lists = new OwnerLists(runner, keyPrefix);
    ({ sessions, summaries } = ownerKeys(keyPrefix, owner));
  });
  afterEach(() => store.close());

  async function begun(...ids: string[]): Promise<void> {
    for (const id of ids) {
      await store.append({ id, owner }, { records: [record("a")] });
      await store.lists.flush();
    }
  }
  const listed = async () => (await lists.list(owner, undefined, 99)).entries.map(({ sessionId }) => sessionId);
  const described = (sessionId: string, version: number, updatedAt = past): DescribedSession => ({
    details: { sessionId, label: {}, labelVersion: "", createdAt: 1, updatedAt, messages: 1, rounds: 0 },
    version,
  });
  /** The place by time is that of `updatedAt`, but no later than the version. */
  const put = (id: string, version: number, mode: PutMode, updatedAt?: number) =>
    lists.put(owner, [described(id, version, updatedAt)], { mode });
  const announce = (id: string) => lists.announce(owner, announcement(id, undefined), undefined);
  const micros = async () => {
    const [seconds, rest] = await client.time();
    return Number(seconds) * 1_000_000 + Number(rest);
  };

  it("counts and shows no session past its expiry, and tidies up when it is looked at", async () => {
    await begun("old", "new");
    await client.zadd(sessions, past, "!old");
    expect(await lists.count(owner)).toBe(1);
    expect(await listed()).toEqual(["new"]);
    expect(await client.zrange(sessions, "0", "-1")).toEqual(["new"]);
    expect(await client.hkeys(summaries)).toEqual(["new"]);
    expect(await lists.count(owner)).toBe(1);
  });

  it("shows what has not ended among more that has than a look removes", async () => {
    await begun("new");
    const ended = Array.from({ length: 700 }, (_, index) => `old${index}`);
    await client.zadd(sessions, ...ended.flatMap((name, index) => [past * 1_000 + index, name, past, `!${name}`]));
    expect(await lists.count(owner)).toBe(1);
    expect(await listed()).toEqual(["new"]);
    expect(await client.zcard(sessions)).toBeLessThan(2 * 700);
  });

  it("forgets the mark of an erasure once it is over, and counts without it", async () => {
    await begun("a");
    await client.zadd(sessions, past, "!");
    await client.hset(summaries, "!", "mark");
    expect(await lists.count(owner)).toBe(1);
    expect(await listed()).toEqual(["a"]);
    expect([await client.zscore(sessions, "!"), await client.hget(summaries, "!")]).toEqual([null, null]);
  });

  it("knows when a session expires, and that it no longer does", async () => {
    const session = { id: "a", owner };
    await store.append(session, { records: [record("a")], ttlMs: 600_000 });
    await store.lists.flush();
    expect(Number(await client.zscore(sessions, "!a"))).toBeGreaterThan(Date.now());
    expect(await client.pttl(sessions)).toBeGreaterThan(0);
    await store.clear(session);
    await store.append(session, { records: [record("a")] });
    await store.lists.flush();
    expect(await client.zscore(sessions, "!a")).toBeNull();
    expect([await client.pttl(sessions), await client.pttl(summaries)]).toEqual([-1, -1]);
  });

  it("keeps the summary of a session that is announced again and again", async () => {
    await begun("a");
    const summary = await lists.summary(owner, "a");
    expect(summary).toMatchObject({ messages: 1 });
    const [first, again] = [
      await lists.announce(owner, announcement("a", undefined), undefined),
      await lists.announce(owner, announcement("a", undefined), undefined),
    ];
    expect(first).toMatch(/^\?\d+$/);
    expect(again).toBeUndefined();
    expect(await lists.summary(owner, "a")).toEqual(summary);
    await put("a", 1, "keep");
    expect(await lists.summary(owner, "a")).toEqual(summary);
    const own = await lists.stamp(owner, "a");
    expect(await lists.announce(owner, announcement("a", undefined), own)).toMatch(/^\?\d+$/);
  });

  it("moves a session to the front for its newest write only", async () => {
    await begun("a", "b");
    const version = await micros();
    await put("a", version, "keep");
    expect(await listed()).toEqual(["b", "a"]);
    await put("a", version - 1, "keep");
    expect(await lists.stamp(owner, "a")).toBe(String(version));
    await put("a", version, "front");
    expect(await listed()).toEqual(["a", "b"]);
    await put("b", version + 1, "place");
    expect(await listed()).toEqual(["a", "b"]);
    expect(Math.floor(Number(await client.zscore(sessions, "b")) / 1_000)).toBe(past);
    await put("a", version + 1, "place");
    expect(Number(await client.zscore(sessions, "a")) - Number(await client.zscore(sessions, "b"))).toBe(1);
  });

  it("puts a session in front of one whose place the clock has not reached yet", async () => {
    await begun("a", "b");
    await client.zadd(sessions, (await micros()) + 3_600_000_000, "a");
    await put("b", await micros(), "front");
    expect(await listed()).toEqual(["b", "a"]);
  });

  it("stays for ever once a session joins that does", async () => {
    await store.append({ id: "a", owner }, { records: [record("a")], ttlMs: 600_000 });
    await store.lists.flush();
    expect(await client.pttl(summaries)).toBeGreaterThan(0);
    await begun("b");
    expect([await client.pttl(sessions), await client.pttl(summaries)]).toEqual([-1, -1]);
  });

  it("leaves a session that has no owner any more where its sessions are erased", async () => {
    await begun("a", "b");
    const entry = (await client.hget(summaries, "a"))!;
    const other = new RedisSessionStore({ client, keyPrefix: sessions.split(":{")[0]! });
    await other.clear({ id: "a" });
    await other.append({ id: "a" }, { records: [record("x")] });
    await other.lists.flush();
    // As a writer leaves it that was killed before it updated the list.
    await client.zadd(sessions, await micros(), "a");
    await client.hset(summaries, "a", entry);
    expect((await listed()).sort()).toEqual(["a", "b"]);
    expect(await store.lists.eraseOwner(owner, { guardMs: 1_000 })).toBe(1);
    expect(await other.readLog({ id: "a" })).toMatchObject({ next: 1 });
    await expect(other.append({ id: "b" }, { records: [record("x")] })).rejects.toMatchObject({ code: "erased" });
    await other.close();
  });

  it("drops entries that are as they were seen, and says how many", async () => {
    await begun("a", "b", "c");
    const seen = async (sessionId: string) => ({ sessionId, stamp: (await lists.stamp(owner, sessionId))! });
    const [a, b] = [await seen("a"), await seen("b")];
    expect(await lists.drop(owner, [a, { ...b, stamp: "1" }, { sessionId: "missing", stamp: "" }], 0)).toBe(1);
    expect(await listed()).toEqual(["c", "b"]);
    await lists.announce(owner, announcement("b", undefined), undefined);
    const announced = await seen("b");
    expect(await lists.drop(owner, [announced], 600_000)).toBe(0);
    expect(await lists.drop(owner, [announced, await seen("c")], 0)).toBe(2);
    expect(await listed()).toEqual([]);
  });

  it("is refused while its owner is erased, and by who does not know the mark of the last erasure", async () => {
    await begun("a", "b");
    await client.hset(summaries, "unlisted", "1 {}");
    const erased = await lists.mark(owner, 600_000, 9);
    expect(erased.map(({ sessionId }) => sessionId)).toEqual(["a", "b"]);
    expect(await lists.put(owner, [described("c", 1)], { mode: "front", mark: "erasing" })).toBe("erasing");
    expect(await lists.announce(owner, announcement("d", undefined), undefined)).toMatch(/^\?/);
    const end = { mark: "mark", milliseconds: 600_000, erased };
    expect(await lists.unmark(owner, { ...end, inAnyCase: false })).toBe(false);
    expect(await lists.unmark(owner, { ...end, inAnyCase: true })).toBe(true);
    expect((await client.hkeys(summaries)).sort()).toEqual(["!", "d"]);
    expect(await lists.put(owner, [described("c", 1)], { mode: "front" })).toBe("mark");
    expect(await lists.put(owner, [described("c", 1)], { mode: "front", mark: "other" })).toBe("mark");
    expect(await listed()).toEqual(["d"]);
    expect(await client.pttl(sessions)).toBe(-1);
    expect(await lists.put(owner, [described("c", 1)], { mode: "front", mark: "mark" })).toBeUndefined();
    await lists.drop(owner, [{ sessionId: "d", stamp: (await lists.stamp(owner, "d"))! }], 0);
    expect(await client.pttl(sessions)).toBeGreaterThan(0);
  });

  it("lives as long as the mark of an erasure, also where its sessions end before", async () => {
    await store.append({ id: "a", owner }, { records: [record("a")], ttlMs: 60_000 });
    await store.lists.flush();
    const seen = await lists.mark(owner, 600_000, 9);
    expect(await client.pttl(sessions)).toBeGreaterThan(300_000);
    const end = { mark: "mark", milliseconds: 1_200_000, erased: seen, inAnyCase: false };
    expect(await lists.unmark(owner, end)).toBe(true);
    expect(await client.zrange(sessions, "0", "-1")).toEqual(["!"]);
    expect(await client.hgetall(summaries)).toEqual({ "!": "mark" });
    const lives = await Promise.all([sessions, summaries].map((key) => client.pttl(key)));
    expect(Math.min(...lives)).toBeGreaterThan(900_000);
    expect(Math.max(...lives)).toBeLessThanOrEqual(1_200_000);
  });

  it("keeps the place of a session that is announced, unless its write was later", async () => {
    await begun("a", "b");
    await announce("a");
    expect(await listed()).toEqual(["b", "a"]);
    await announce("b");
    await put("b", await micros(), "keep");
    expect(await listed()).toEqual(["b", "a"]);
    const later = (await micros()) + 60_000_000;
    await put("b", later, "keep");
    expect(await listed()).toEqual(["b", "a"]);
    await announce("a");
    await put("a", later, "keep", later);
    expect(await listed()).toEqual(["a", "b"]);
    await put("b", later + 1_000_000, "keep", later);
    expect(await listed()).toEqual(["a", "b"]);
  });

  it("moves a session to the front for a write before one that is known, if nobody has since", async () => {
    await begun("a", "b");
    const later = (await micros()) + 60_000_000;
    await put("a", later + 1_000_000, "keep");
    await put("a", later, "keep", later);
    await put("a", later, "front");
    expect(await listed()).toEqual(["b", "a"]);
    await put("a", later, "front", later);
    expect(await listed()).toEqual(["a", "b"]);
    expect(await lists.stamp(owner, "a")).toBe(String(later + 1_000_000));
    await client.zrem(sessions, "a");
    await put("a", later, "front", later);
    expect(await listed()).toEqual(["b"]);
  });

  it("gives places by time where they were lost", async () => {
    await begun("a", "b", "c");
    await announce("c");
    await client.unlink(sessions);
    const version = (await micros()) + 60_000_000;
    for (const [index, id] of ["c", "b", "a"].entries()) {
      await put(id, version, "keep", past - index);
    }
    expect(await listed()).toEqual(["c", "b", "a"]);
  });

  it("looks again at sessions that were unlisted or only announced, and at no others", async () => {
    await begun("a", "b");
    const version = (await micros()) + 60_000_000;
    await announce("announced");
    await put("announced", version, "front");
    await put("unlisted", version, "front");
    expect(await listed()).toEqual(["b", "a"]);
    const { log, ids, state } = sessionKeys(keyPrefix, "a");
    await client.unlink(log, ids, state);
    await put("a", version, "keep");
    expect(await listed()).toEqual(["b", "a"]);
  });

  it("knows the expiry of a session that is announced by a writer without one", async () => {
    await store.append({ id: "a", owner }, { records: [record("a")], ttlMs: 600_000 });
    await store.lists.flush();
    await announce("a");
    expect(await client.zscore(sessions, "!a")).not.toBeNull();
    await put("a", (await micros()) + 60_000_000, "keep");
    expect(await client.zscore(sessions, "!a")).toBeNull();
  });

  it("is written again when the mark of an erasure is over, or only its name is left", async () => {
    await client.zadd(sessions, past, "!");
    await client.hset(summaries, "!", "mark");
    await begun("a");
    expect(await put("a", await micros(), "front")).toBeUndefined();
    await client.zadd(sessions, past, "!");
    await client.hset(summaries, "!", "mark");
    expect(await put("a", await micros(), "front")).toBeUndefined();
    await client.zrem(sessions, "!");
    await client.hset(summaries, "!", "mark");
    expect(await put("a", await micros(), "front")).toBeUndefined();
  });

  it("has pages of the number that was asked for, also between sessions that have ended", async () => {
    await begun("f", "e", "d", "c", "b", "a");
    const ended = Array.from({ length: 600 }, (_, index) => `old${index}`);
    const place = Number(await client.zscore(sessions, "a"));
    await client.zadd(sessions, ...ended.flatMap((name, index) => [place - 1 - index, name, past, `!${name}`]));
    const { entries, next } = await lists.list(owner, undefined, 2);
    expect(entries.map(({ sessionId }) => sessionId)).toEqual(["a", "b"]);
    expect(next).toBe(Number(await client.zscore(sessions, "b")));
  });

  it("has a short page rather than a slow one", async () => {
    await begun("a");
    const ended = Array.from({ length: 2_100 }, (_, index) => `old${index}`);
    const place = 2 * Number(await client.zscore(sessions, "a"));
    await client.zadd(sessions, ...ended.flatMap((name, index) => [place + index, name, past, `!${name}`]));
    const short = await lists.list(owner, undefined, 1);
    expect(short).toMatchObject({ entries: [], next: expect.any(Number) as number });
    expect((await lists.list(owner, short.next, 1)).entries).toMatchObject([{ sessionId: "a" }]);
  });

  it("is erased only if nothing is listed but what was erased", async () => {
    await begun("a");
    const gone = { member: "gone", sessionId: "gone", stamp: "" };
    const end = { mark: "mark", milliseconds: 600_000, erased: [gone], inAnyCase: false };
    expect(await lists.unmark(owner, end)).toBe(false);
    expect(await listed()).toEqual(["a"]);
  });
});
