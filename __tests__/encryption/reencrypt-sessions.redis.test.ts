import { readLog } from "../../src/store/contract/session-data.js";
import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import type { MemoryEvent } from "../../src/base/events.js";
import { type EncryptionOptions, KeyRing } from "../../src/store/sealed/keys/key-ring.js";
import { identifyRecord } from "../../src/store/codec/stored-record.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { reencryptAll } from "../../src/memory/sessions/reencrypt-sessions.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { sealedStore } from "../../src/store/sealed/store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { withKey } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";

const client = sharedClient();

const turn = (name: string) => [
  new HumanMessage({ id: `${name}-q`, content: `secret question ${name}` }),
  new AIMessage({ id: `${name}-a`, content: `secret answer ${name}` }),
];

const none = { threads: 0, items: 0, runs: 0, sealed: 0, incomplete: 0, failed: 0 };

describe.each(["Redis", "memory"])("re-encryption in a store in %s", (kind) => {
  let store: SessionStore;
  let keyPrefix: string;
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = kind === "Redis" ? new RedisSessionStore({ client, keyPrefix }) : new InMemorySessionStore();
  });
  const reducer = new ChatHistoryTruncationReducer({ targetCount: 5 });
  const memoryWith = (encryption?: EncryptionOptions) =>
    new RedisChatMemory({ store, reducer, ...(encryption && { encryption }) });
  const sealedWith = (encryption: EncryptionOptions) => sealedStore(store, KeyRing.of(encryption));
  const everything = async () => {
    const stored = await withKey(store, { id: "s" });
    const view = await store.readView(stored);
    return [
      view.head,
      ...(await readLog(store, stored)).records,
      ...Object.values(await store.data.readSide(stored, "")),
    ];
  };

  it("seals plain text, and brings the data key under the current master; then the older one can go", async () => {
    const rules = new SystemMessage({ id: "sys", content: "secret rules" });
    const messages = [rules, ...turn("1"), ...turn("2"), ...turn("3")];
    await memoryWith()
      .history("s")
      .append([rules, ...turn("1")], { side: { set: { note: "secret note" } } });
    await memoryWith(testKeys("k1"))
      .history("s")
      .append([...turn("2"), ...turn("3")], { turnId: "t" });
    await memoryWith(testKeys("k2", "k1"))
      .history("s")
      .append([], { side: { set: { other: "secret" } } });
    const before = await sealedWith(testKeys("k2", "k1")).readView({ id: "s" });
    const seen: unknown[] = [];
    const request = { sessionIds: ["s", "unknown"], onProgress: (progress: unknown) => seen.push(progress) };
    const done = await reencryptAll(sealedWith(testKeys("k2", "k1")), request);
    // Three records and one side field.
    expect(done).toEqual({ ...none, sessions: 2, keys: 1, sealed: 4 });
    expect(seen.at(-1)).toEqual(done);
    expect((await everything()).join()).not.toContain("secret");
    expect((await store.edits.readKey({ id: "s" }))!.stored!.key).toMatch(/^[\w-]{8} k2$/);
    const only = memoryWith(testKeys("k2"));
    expect(await sealedWith(testKeys("k2")).readView({ id: "s" })).toEqual({ ...before, rev: before.rev });
    expect(await only.history("s").getTranscript()).toEqual(messages);
    expect(await sealedWith(testKeys("k2")).data.readSide({ id: "s" }, "")).toEqual({
      note: "secret note",
      other: "secret",
    });
    expect(await only.history("s").append(messages)).toMatchObject({ appended: 0, duplicates: 7 });
    expect(await only.history("s").append(turn("9"), { turnId: "t" })).toMatchObject({ repeated: true });
    const again = await reencryptAll(sealedWith(testKeys("k2")), { sessionIds: ["s"] });
    expect(again).toMatchObject({ keys: 0, sealed: 0 });
    await expect(memoryWith(testKeys("k1")).history("s").getMessages()).rejects.toMatchObject({ code: "unknown_key" });
  });

  it("touches no record of a session that was always sealed", async () => {
    await memoryWith(testKeys("k1"))
      .history("s")
      .append(turn("1"), { side: { set: { a: "secret" } } });
    const before = await everything();
    const reads = jest.spyOn(store.data, "readPage");
    const done = await reencryptAll(sealedWith(testKeys("k2", "k1")), { sessionIds: ["s"] });
    expect(done).toEqual({ ...none, sessions: 1, keys: 1 });
    expect(reads).not.toHaveBeenCalled();
    expect(await everything()).toEqual(before);
  });

  it("gives a session another data key, none at all, and one again, under a turn", async () => {
    const both = testKeys("k2", "k1");
    const memory = memoryWith(both);
    await memory.history("s").append([...turn("1"), ...turn("2")], { turnId: "t", side: { set: { note: "secret" } } });
    await memory.sessions.update("s", { title: "secret title" });
    await memory.history("s").reduceView();
    const view = () => sealedWith(both).readView({ id: "s" });
    const stored = async () => (await store.edits.readKey({ id: "s" }))!.stored;
    const first = (await stored())!;
    const reencrypt = async (keys: EncryptionOptions) => {
      const dataKeys = true;
      expect(await memoryWith(keys).sessions.reencrypt({ dataKeys })).toMatchObject({ incomplete: 0, failed: 0 });
      return stored();
    };
    await memory.withTurn("s", async (session) => {
      await session.append(turn("3"));
      const before = await view();
      const second = (await reencrypt(both))!;
      expect([second.key.split(" ")[0], second.dek]).not.toContain([first.key.split(" ")[0], first.dek]);
      expect(await view()).toEqual(before);
      await session.append(turn("4"));
      expect(await reencrypt({ current: null, previous: [both.current!] })).toBeUndefined();
      expect((await everything()).filter((text) => text.includes("secret"))).toHaveLength(9);
      await session.append(turn("5"));
      expect(await reencrypt(both)).toBeDefined();
      expect((await everything()).join()).not.toContain("secret");
    });
    const only = memoryWith(testKeys("k2")).history("s");
    const all = ["1", "2", "3", "4", "5"].flatMap(turn);
    expect(await only.getTranscript()).toEqual(all);
    expect(await only.append(turn("1"), { turnId: "t" })).toMatchObject({ repeated: true });
    expect(await only.append(all)).toMatchObject({ appended: 0, duplicates: 10 });
    expect(await memory.sessions.get("s")).toMatchObject({ title: "secret title" });
  });

  it("lets a process with the old master key alone write on, which the new one reads", async () => {
    const old = memoryWith(testKeys("k1")).history("s");
    await old.addMessages(turn("1"));
    await reencryptAll(sealedWith(testKeys("k2", "k1")), { sessionIds: ["s"] });
    await old.addMessages(turn("2"));
    expect(await memoryWith(testKeys("k2")).history("s").getMessages()).toEqual([...turn("1"), ...turn("2")]);
  });

  it("goes on after sessions that cannot be opened, which it names and leaves, and refuses without keys", async () => {
    for (const [id, key] of Object.entries({ s1: "k1", s2: "lost", s3: "k1", s4: "lost", s5: "k1" })) {
      await memoryWith(testKeys(key)).history(id).addMessages(turn(id));
    }
    const events: MemoryEvent[] = [];
    const memory = new RedisChatMemory({
      ...{ store, reducer, encryption: testKeys("k2", "k1") },
      onEvent: (event) => events.push(event),
    });
    const [seen, problems]: [number[], string[]] = [[], []];
    const done = await memory.sessions.reencrypt({
      onProgress: ({ failed }) => seen.push(failed),
      onProblem: ({ sessionId }) => problems.push(sessionId),
    });
    expect(done).toEqual({ sessions: 5, threads: 0, items: 0, runs: 0, keys: 3, sealed: 0, incomplete: 0, failed: 2 });
    expect([seen.length, seen.at(-1), problems.sort()]).toEqual([5, 2, ["s2", "s4"]]);
    const skipped = events.filter(({ type }) => type === "session_skipped");
    expect(skipped).toHaveLength(2);
    expect(skipped[0]).toMatchObject({ operation: "reencrypt", error: { code: "unknown_key" } });
    expect(await memoryWith(testKeys("k2")).history("s5").getMessages()).toHaveLength(2);
    expect(await memoryWith(testKeys("lost")).history("s2").append(turn("s2"))).toMatchObject({ duplicates: 2 });
    await expect(memoryWith().sessions.reencrypt()).rejects.toMatchObject({ option: "encryption" });
    await expect(memory.sessions.reencrypt({ onProgress: 1 as never })).rejects.toMatchObject({ option: "onProgress" });
  });

  if (kind === "Redis") {
    it("keeps the session's expiry, and the index of ids as a rebuild would write it", async () => {
      const plain = new RedisChatMemory({ client, redis: { keyPrefix }, sessionTTL: 1000 });
      await plain.history("s").append(turn("1"), { turnId: "t" });
      const { log, ids, state } = sessionKeys(keyPrefix, "s");
      const expiries = async () =>
        Promise.all([log, ids, state].map(async (key) => Number(await client.call("PEXPIRETIME", key))));
      const [before] = await expiries();
      await reencryptAll(sealedWith(testKeys("k2", "k1")), { sessionIds: ["s"] });
      const [now = 0, ...others] = await expiries();
      expect(others).toEqual([now, now]);
      expect(Math.abs(now - before!)).toBeLessThan(1_000);
      const swapped = await client.hgetall(ids);
      await sealedWith(testKeys("k2")).edits.rebuild({ id: "s" }, (record) => identifyRecord(record));
      const rebuilt = await client.hgetall(ids);
      const digests = (all: Record<string, string>) => Object.values(all).filter((value) => !/^[tT]\d{7}/.test(value));
      expect(digests(rebuilt).sort()).toEqual(digests(swapped).sort());
    });
  }
});
