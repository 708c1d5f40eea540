import { readLog } from "../../src/store/contract/session-data.js";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { identifyRecord } from "../../src/store/codec/stored-record.js";
import { ChatHistoryTruncationReducer, RedisChatMemory, RedisSessionStore } from "../../src/entries/index.js";
import { type FaultProxy, startFaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { ai, human } from "../support/messages.js";
import { forkOf } from "../../testing/session-store/store-case.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);
const turn = (index: number) => [human(`q${index}`, `q${index}`), ai(`a${index}`, { id: `a${index}` })];

describe("pages and branches of a session", () => {
  const keyPrefix = uniquePrefix();
  const client = new Redis(sharedRedisUrl());
  let proxy: FaultProxy;
  let memory: RedisChatMemory;

  beforeAll(async () => {
    proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
    memory = new RedisChatMemory({ url: proxy.url, redis: { keyPrefix }, sessionTTL: 600 });
    await memory.history("first").getMessages();
  });
  afterAll(async () => {
    await memory.close();
    await proxy.stop();
    client.disconnect();
  });

  async function tripsOf(action: () => Promise<unknown>): Promise<number> {
    proxy.resetFlights();
    await action();
    return proxy.flights();
  }

  it("pages through a session from the newest message to the oldest and back, one round trip each", async () => {
    const history = memory.history("pages");
    await history.addMessages(Array.from({ length: 10 }, (_, index) => turn(index)).flat());
    const seen: string[][] = [];
    let before: number | null | undefined;
    do {
      const page = await history.getPage({ limit: 8, before });
      seen.push(texts(page.items.map(({ message }) => message)));
      expect(page.total).toBe(20);
      before = page.previous;
    } while (before !== null);
    expect(seen.map(({ length }) => length)).toEqual([8, 8, 4]);
    expect(seen.reverse().flat()).toEqual(texts(await history.getTranscript()));
    const oldest = await history.getPage({ after: -1, limit: 3 });
    expect(oldest.items.map(({ position }) => position)).toEqual([0, 1, 2]);
    expect(oldest).toMatchObject({ previous: null, next: 2 });
    const ends = [await history.getPage({ before: null }), await history.getPage({ after: null, limit: 3 })];
    expect(ends).toEqual([
      { items: [], total: 20, previous: null, next: -1 },
      { items: [], total: 20, previous: 20, next: null },
    ]);
    const around = await history.getPage({ around: "q5", limit: 3 });
    expect(texts(around.items.map(({ message }) => message))).toEqual(["a4", "q5", "a5"]);
    expect(await tripsOf(() => history.getPage({ around: "q5" }))).toBe(1);
    expect(await tripsOf(() => history.stats())).toBe(1);
    expect(await tripsOf(() => history.getReductions())).toBe(1);
    await expect(history.getPage({ around: "q99" })).rejects.toMatchObject({ code: "unknown_message" });
    await expect(history.getPage({ limit: 0 })).rejects.toMatchObject({ option: "limit" });
    await expect(history.getPage({ before: 3, after: 1 })).rejects.toMatchObject({ option: "after" });
  });

  it("gives each message the server's time at which it was stored first, also after a resend", async () => {
    const history = memory.history("times");
    const [seconds, micros] = await client.time();
    const began = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    await history.addMessages(turn(1));
    const at = async () => (await history.getPage()).items.map((item) => item.at);
    const first = await at();
    expect(first.every((time) => time! >= began - 10_000 && time! <= Date.now() + 10_000)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await history.addMessages(turn(1));
    expect(await at()).toEqual(first);
  });

  it("shows which messages the model sees, and when and why others left", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const reduced = new RedisChatMemory({ url: proxy.url, redis: { keyPrefix }, reducer });
    const history = reduced.history("reduced");
    await history.addMessages([...turn(1), ...turn(2)]);
    const { items } = await history.getPage();
    expect(items.map(({ inView }) => inView)).toEqual([false, false, true, true]);
    const reductions = await history.getReductions();
    expect(reductions).toMatchObject([{ start: 2, head: 0, before: { messages: 4 }, after: { messages: 2 } }]);
    const stats = await history.stats();
    expect(stats).toMatchObject({ messages: 4, rounds: 2, view: { messages: 2 }, reductions: 1 });
    expect(stats.createdAt! <= reductions[0]!.at && reductions[0]!.at <= stats.updatedAt!).toBe(true);
    await reduced.close();
  });

  it("replaces a message and all after it in one read and one write; an edit keeps its id", async () => {
    const history = memory.history("edited");
    await history.append([...turn(1)], { turnId: "t1" });
    await history.append([...turn(2)], { turnId: "t2" });
    const edited = [new HumanMessage({ id: "q2", content: "other" }), new AIMessage({ id: "a9", content: "answer" })];
    const trips = await tripsOf(() => history.replaceFrom("q2", edited, { turnId: "t2b" }));
    expect(trips).toBe(2);
    expect(texts(await history.getTranscript())).toEqual(["q1", "a1", "other", "answer"]);
    expect(await history.append(turn(2), { turnId: "t1" })).toMatchObject({ repeated: true });
    const stored = (await history.getPage()).items[1]!.message;
    expect(await history.replaceFrom("a1", [ai("again", { id: "a1" })])).toMatchObject({ appended: 1, next: 2 });
    expect(stored.text).toBe("a1");
    expect(texts(await history.getMessages())).toEqual(["q1", "again"]);
  });

  it("loses nothing by an edit that is refused, or of the first message; a resend is a repetition", async () => {
    const history = memory.history("first-edit");
    await history.append([...turn(1), ...turn(2)], { side: { set: { note: "x" } } });
    const before = await history.getTranscript();
    const conflict = [new HumanMessage({ id: "q1", content: "other" })];
    await expect(history.replaceFrom("q2", conflict)).rejects.toMatchObject({ code: "content" });
    await expect(history.replaceFrom("q2", [human("x")], { expectedNext: 3 })).rejects.toMatchObject({
      ...{ code: "position", next: 4 },
    });
    await expect(history.replaceFrom("q9", [human("x")])).rejects.toMatchObject({ code: "unknown_message" });
    await expect(history.replaceFrom("q2", [])).rejects.toMatchObject({ option: "messages" });
    expect(await history.getTranscript()).toEqual(before);
    const edit = [human("new", "n1")];
    await history.replaceFrom("q1", edit);
    expect(await history.replaceFrom("q1", edit)).toMatchObject({ appended: 0, duplicates: 1, next: 1 });
    expect(texts(await history.getMessages())).toEqual(["new"]);
    expect(await client.hget(`${keyPrefix}:{first-edit}:state`, "side:note")).toBe("x");
    const keys = ["log", "ids", "state"].map((part) => `${keyPrefix}:{first-edit}:${part}`);
    const expiries = await Promise.all(keys.map((key) => client.call("PEXPIRETIME", key)));
    expect(new Set(expiries).size).toBe(1);
    expect(Number(expiries[0])).toBeGreaterThan(Date.now());
  });

  it("shows a fork when it is complete, and refuses it onto a session that exists", async () => {
    const history = memory.history("long");
    await history.addMessages(Array.from({ length: 700 }, (_, index) => turn(index)).flat());
    const copying = history.fork("branch", { at: 1_300 });
    const early = await memory.history("branch").getMessages();
    expect([0, 1_300]).toContain(early.length);
    const branch = await copying;
    expect(texts(await branch.getTranscript())).toEqual(texts((await history.getTranscript()).slice(0, 1_300)));
    expect((await client.keys(`${keyPrefix}:{branch}:*`)).sort()).toEqual(
      ["ids", "log", "state"].map((part) => `${keyPrefix}:{branch}:${part}`),
    );
    await expect(history.fork("branch")).rejects.toMatchObject({ code: "exists" });
    await expect(memory.history("none").fork("other")).rejects.toMatchObject({ code: "unknown_session" });
    await expect(history.fork("other", { at: 1_401 })).rejects.toMatchObject({ code: "position", next: 1_400 });
  });

  it("leaves nothing of a fork that was interrupted, and begins again with the next one", async () => {
    const history = memory.history("source");
    await history.addMessages(Array.from({ length: 700 }, (_, index) => turn(index)).flat());
    const store = new RedisSessionStore({ client, keyPrefix });
    const copyUntil = (end: number) => (record: string, position: number) => {
      if (position === end) {
        throw new Error("interrupted");
      }
      return { record, identity: identifyRecord(record) };
    };
    const fork = (end: number) => forkOf(store, { id: "source" }, { id: "target" }, { copyRecord: copyUntil(end) });
    await expect(fork(900)).rejects.toThrow("interrupted");
    expect(await client.keys(`${keyPrefix}:{target}:*`)).toEqual([]);
    await fork(-1);
    expect((await readLog(store, { id: "target" })).records).toEqual((await readLog(store, { id: "source" })).records);
    expect((await store.append({ id: "target" }, { records: [] })).next).toBe(1_400);
    await store.close();
  });
});
