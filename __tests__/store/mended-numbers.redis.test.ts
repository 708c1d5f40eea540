import { readLog } from "../../src/store/contract/session-pages.js";
import { sessionKeys, type SessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { asRead, human, record, texts } from "../../testing/session-store/store-case.js";
import type { NewRecord } from "../../src/store/contract/session-writes.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const chat = [human("q1"), record("a1"), human("q2"), record("a2"), human("q3"), record("a3")];
const identify = (text: string) => chat.find((item) => item.record === text);
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
  const client = sharedClient();
  let store: RedisSessionStore;
  /** Has read nothing of the session. */
  let stranger: RedisSessionStore;
  let keys: SessionKeys;
  beforeEach(async () => {
    const keyPrefix = uniquePrefix();
    // It knows where the view begins, and keeps none: a kept one is proven without these numbers.
    store = new RedisSessionStore({ client, keyPrefix, viewCacheBytes: 0 });
    stranger = new RedisSessionStore({ client, keyPrefix });
    keys = sessionKeys(keyPrefix, "s");
    await store.append({ id: "s", hold: { epoch: "", token: 5 } }, { records: chat });
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
      expect((await reader.readView({ id: "s" })).records).toEqual(texts(chat.slice(await firstSeen())));
    }
    expect(await store.data.readStats({ id: "s" })).toMatchObject({ damaged: await areWrong() });
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await stored()).toEqual({ ...sound, ...damageKept(damage), ...mended });
    expect((await readLog(store, { id: "s" })).records).toEqual(texts(chat));
    expect(await store.append({ id: "s" }, { records: [...chat, human("q4")] })).toMatchObject({ appended: 1 });
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
    const isInOrder = base <= start && start <= next && rounds <= next && next - base === chat.length;
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
    expect(await store.append({ id: "s" }, { records: chat })).toMatchObject({ appended: 6, next: 6 });
  });

  it("keep the place of a log whose beginning was discarded", async () => {
    const view = await store.readView({ id: "s" });
    const discard = true;
    await store.commitReduction({ id: "s" }, { ...asRead(view), start: 4, head: "", headCount: 0, discard });
    const seen: readonly (readonly [Numbers, readonly NewRecord[]])[] = [
      [{ base: null }, []],
      [{ base: "x" }, chat.slice(4)],
      [{ start: "1" }, chat.slice(4)],
      [{ start: "3" }, chat.slice(4)],
      [{ start: "1", base: null }, chat.slice(5)],
    ];
    for (const [numbers, left] of seen) {
      await damaged(numbers);
      expect(await store.readView({ id: "s" })).toMatchObject({ damaged: true, records: texts(left) });
      const anew = new RedisSessionStore({ client, keyPrefix: keys.log.split(":{")[0]! });
      expect(await anew.readView({ id: "s" })).toMatchObject({ damaged: true, records: texts(left) });
      await store.edits.rebuild({ id: "s" }, identify);
      expect(await stored()).toMatchObject({ base: "4", start: "4", next: "6", rounds: "1" });
    }
  });
});
