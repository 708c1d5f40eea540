import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { SessionSearchOptions } from "../../src/memory/sessions/search-requests.js";
import { ai, human, tool, aiCalls } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const client = sharedClient();
const encryption = { keys: { current: { id: "k1", key: Buffer.alloc(32, 1) } } };
const onRedis = () => ({ client, redis: { keyPrefix: uniquePrefix() } });

const stores: [string, () => RedisChatMemory][] = [
  ["Redis", () => new RedisChatMemory(onRedis())],
  ["memory", () => new RedisChatMemory({ store: new InMemorySessionStore() })],
  ["Redis, encrypted", () => new RedisChatMemory({ ...onRedis(), encryption: encryption.keys })],
];

const ids = ({ sessions }: { readonly sessions: readonly { readonly sessionId: string }[] }) =>
  sessions.map(({ sessionId }) => sessionId);

/** All that a search finds in calls that each end early, and how often it was asked. */
async function walk(memory: RedisChatMemory, options: SessionSearchOptions) {
  const found: string[] = [];
  let calls = 0;
  for (let cursor: string | null | undefined; cursor !== null; calls += 1) {
    const page = await memory.sessions.search({ ...options, cursor });
    found.push(...ids(page));
    cursor = page.next;
  }
  return { found, calls };
}

describe.each(stores)("a search of the sessions in %s", (_, open) => {
  it("finds by title and text, newest first, and resumes where it stopped", async () => {
    const memory = open();
    const talks = [
      { id: "s1", title: "Straße to Oslo", texts: [human("Oslo?"), ai("Cold.")] },
      { id: "s2", title: "Rome", texts: [human("Is ROME warm?"), ai("Warmer than Oslo.")] },
      { id: "s3", texts: [human("q"), aiCalls("c1"), tool("c1", "oslo, hidden"), ai("No.")] },
      { id: "s4", texts: [human("oslo"), ...Array.from({ length: 250 }, (_, index) => ai(`a${index}`))] },
    ];
    for (const { id, texts, ...identity } of talks) {
      await memory.history(id, { owner: "ann", ...identity }).addMessages(texts);
      await memory.drain();
    }
    await memory.history("b1", { owner: "bob", title: "Oslo" }).addMessages([human("Rain")]);
    await memory.drain();
    const search = (options: SessionSearchOptions) => memory.sessions.search({ owner: "ann", ...options });

    const [straight, ...others] = (await search({ text: "STRASSE" })).sessions;
    expect([straight!.sessionId, "match" in straight!, others]).toEqual(["s1", false, []]);
    expect(ids(await search({ text: "oslo" }))).toEqual(["s4", "s2", "s1"]);
    expect(ids(await search({ text: "oslo", roles: ["tool"] }))).toEqual(["s3", "s1"]);
    const [rome] = (await search({ text: "warm" })).sessions;
    expect(rome).toMatchObject({ owner: "ann", match: { position: 1, message: { content: "Warmer than Oslo." } } });

    expect(await search({ text: "cold" })).toMatchObject({ next: null, searched: { sessions: 4, messages: 259 } });
    const { found, calls } = await walk(memory, { owner: "ann", text: "oslo", limit: 1 });
    expect([found, calls]).toEqual([["s4", "s2", "s1"], 3]);
    // Of all owners, by their ids.
    expect((await walk(memory, { text: "oslo", limit: 1 })).found).toEqual(["b1", "s1", "s2", "s4"]);
    await memory.close();
  });

  it("reads the newest messages of a session, and begins none behind the most that a call reads", async () => {
    const memory = open();
    for (let index = 0; index < 12; index += 1) {
      const texts = Array.from({ length: 150 }, (_, place) => human(place === 0 ? "oslo" : `q${place}`));
      await memory.history(`s${index}`, { owner: "ann" }).addMessages(texts);
    }
    await memory.drain();
    const first = await memory.sessions.search({ owner: "ann", text: "oslo", maxMessages: 100 });
    expect(first).toMatchObject({ sessions: [], searched: { sessions: 8, messages: 800 } });
    const { found, calls } = await walk(memory, { owner: "ann", text: "oslo", maxMessages: 200 });
    expect([found.length, calls]).toEqual([12, 2]);
    await memory.close();
  });
});

describe("a search", () => {
  it("refuses an owner that is undefined, and cursors that are none", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    await expect(memory.sessions.search({ owner: undefined as never, text: "x" })).rejects.toMatchObject({
      option: "owner",
    });
    for (const cursor of ["", "x", Buffer.from("[1,2,3]").toString("base64url")]) {
      await expect(memory.sessions.search({ owner: "ann", text: "x", cursor })).rejects.toMatchObject({
        option: "cursor",
      });
    }
    expect(await memory.sessions.search({ owner: "ann", text: "x", cursor: null })).toMatchObject({
      sessions: [],
      next: null,
    });
  });

  it("counts and reports sessions whose key is missing, and finds the others", async () => {
    const place = onRedis();
    const sealed = new RedisChatMemory({ ...place, encryption: encryption.keys });
    await sealed.history("sealed", { owner: "ann", title: "Oslo" }).addMessages([human("Oslo")]);
    await sealed.drain();
    const events: MemoryEvent[] = [];
    const plain = new RedisChatMemory({ ...place, onEvent: (event) => void events.push(event) });
    await plain.history("plain", { owner: "ann", title: "Oslo" }).addMessages([human("Oslo")]);
    await plain.drain();
    const found = await plain.sessions.search({ owner: "ann", text: "oslo" });
    expect([ids(found), found.searched.skipped]).toEqual([["plain"], 1]);
    expect(events).toContainEqual(expect.objectContaining({ type: "session_skipped", sessionId: "sealed" }));
  });
});
