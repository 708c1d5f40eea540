import { cursorText } from "../../src/memory/sessions/stored-sessions.js";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { startFaultProxy, type FaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const client = sharedClient();

const stores: [string, () => RedisChatMemory][] = [
  ["Redis", () => new RedisChatMemory({ client, redis: { keyPrefix: uniquePrefix() }, trackUsage: true })],
  ["memory", () => new RedisChatMemory({ store: new InMemorySessionStore(), trackUsage: true })],
];

describe.each(stores)("the sessions of a memory in %s", (_, open) => {
  it("are listed for their owner with title, metadata and sizes", async () => {
    const memory = open();
    const metadata = { tags: ["a", "é"], nested: { n: 1.5, none: null } };
    await memory.history("s1", { owner: "ann", title: "First", metadata }).addMessages([human("q1"), ai("a1")]);
    await memory.drain();
    await memory.history("s2", { owner: "ann" }).addMessages([human("q1")]);
    await memory.history("s3", { owner: "bob" }).addMessages([human("q1")]);
    await memory.drain();
    const { sessions, next } = await memory.sessions.list({ owner: "ann" });
    expect(next).toBeNull();
    expect(sessions).toMatchObject([
      { sessionId: "s2", metadata: {}, messages: 1, rounds: 1 },
      { sessionId: "s1", title: "First", metadata, messages: 2, rounds: 1 },
    ]);
    expect(Math.abs(sessions[0]!.updatedAt - Date.now())).toBeLessThan(60_000);
    expect(await memory.sessions.count({ owner: "ann" })).toBe(2);
    expect(await memory.sessions.get("s1", { owner: "ann" })).toMatchObject({ owner: "ann", title: "First" });
    expect(await memory.sessions.get("unknown")).toBeUndefined();
  });

  it("are walked by opaque cursors, each session once", async () => {
    const memory = open();
    for (let index = 0; index < 7; index += 1) {
      await memory.history(`s${index}`, { owner: "ann" }).addMessages([human("q")]);
      await memory.drain();
    }
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await memory.sessions.list({ owner: "ann", limit: 3, cursor });
      seen.push(...page.sessions.map(({ sessionId }) => sessionId));
      cursor = page.next;
    } while (cursor !== null);
    expect(seen).toEqual(["s6", "s5", "s4", "s3", "s2", "s1", "s0"]);
    expect(await memory.sessions.list({ owner: "ann", cursor })).toEqual({ sessions: [], next: null });
  });

  it("refuse every other owner, for reads and writes", async () => {
    const memory = open();
    await memory.history("s", { owner: "ann" }).addMessages([human("q")]);
    const stranger = memory.history("s", { owner: "bob" });
    const calls = [
      () => stranger.addMessages([human("q2")]),
      () => stranger.getMessages(),
      () => stranger.getTranscript(),
      () => stranger.getRounds(1),
      () => stranger.stats(),
      () => stranger.getPage(),
      () => stranger.getReductions(),
      () => stranger.replaceFrom("q", [human("q2")]),
      () => stranger.fork("stolen"),
      () => stranger.rewind("q"),
      () => stranger.clear(),
      () => memory.sessions.get("s", { owner: "bob" }),
      () => memory.sessions.update("s", { title: "x" }, { owner: "bob" }),
      () => memory.sessions.delete("s", { owner: "bob" }),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: "other_owner", sessionId: "s" });
    }
    expect(await memory.history("s").getMessages()).toHaveLength(1);
  });

  it("are renamed by compare-and-set: two updates at once both happen, and no later turn undoes them", async () => {
    const memory = open();
    const history = memory.history("s", { owner: "ann", title: "Old", metadata: { a: 1, b: 2 } });
    await history.addMessages([human("q1")]);
    await Promise.all([
      memory.sessions.update("s", { title: "New" }),
      memory.sessions.update("s", { metadata: { b: undefined, c: 3 } }),
    ]);
    await history.addMessages([human("q2")]);
    await memory.drain();
    const { sessions } = await memory.sessions.list({ owner: "ann" });
    expect(sessions).toMatchObject([{ title: "New", messages: 2 }]);
    expect(sessions[0]!.metadata).toEqual({ a: 1, c: 3 });
    await memory.sessions.update("s", { title: "" });
    expect(await memory.sessions.get("s")).not.toHaveProperty("title");
    expect(await memory.sessions.update("unknown", { title: "x" }, { owner: "bob" })).toBeUndefined();
    await memory.history("unknown", { owner: "ann" }).addMessages([new HumanMessage("Nobody claimed it.")]);
  });

  it("refuse bad input with typed errors, and change nothing", async () => {
    const memory = open();
    const refused = async (option: string, call: () => unknown) => {
      await expect((async () => call())()).rejects.toMatchObject({ code: "invalid_option", option });
    };
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (const owner of ["", "é".repeat(257), "\ud800", 7 as never]) {
      await refused("owner", () => memory.history("s", { owner }));
      await refused("owner", () => memory.sessions.list({ owner }));
      await refused("owner", () => memory.sessions.deleteOwner(owner));
    }
    for (const metadata of [circle, [1], { f: () => 1 }, { n: NaN }, { d: new Date() }, { x: "x".repeat(17_000) }]) {
      await refused("metadata", () => memory.history("s", { metadata: metadata as never }));
    }
    await refused("title", () => memory.history("s", { title: "x".repeat(1_001) }));
    await refused("limit", () => memory.sessions.list({ owner: "ann", limit: 0 }));
    await refused("limit", () => memory.sessions.list({ owner: "ann", limit: 1_001 }));
    const { next: ofSearch } = await memory.sessions.search({ text: "x", maxMessages: 1 });
    const long = cursorText({ page: { score: 1, member: "m".repeat(4_096) } });
    for (const cursor of ["", "x", "YWZ0ZXI6MQ==", ofSearch ?? cursorText({ after: "a" }), cursorText({}), long]) {
      await refused("cursor", () => memory.sessions.list({ owner: "ann", cursor }));
    }
    await refused("guardMs", () => memory.sessions.delete("s", { guardMs: 0 }));
    expect(await memory.sessions.get("s")).toBeUndefined();
  });

  it("sum up what models took, once for each answer", async () => {
    const memory = open();
    const usage_metadata = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const answer = (id: string, model: string) =>
      new AIMessage({ id, content: "a", usage_metadata, response_metadata: { model_name: model } });
    const history = memory.history("s", { owner: "ann" });
    await history.addMessages([new HumanMessage({ id: "q", content: "q" }), answer("a1", "m1")]);
    await history.addMessages([answer("a1", "m1"), answer("a2", "m1"), answer("a3", "m2")]);
    await memory.drain();
    const sums = {
      m1: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
      m2: usage_metadata,
    };
    expect((await memory.sessions.list({ owner: "ann" })).sessions[0]!.usage).toEqual(sums);
    await history.rewind("q");
    expect((await memory.sessions.get("s"))!.usage).toEqual(sums);
    expect(await history.getMessages()).toEqual([]);
  });
});

describe("round trips of sessions with an owner, counted at the socket", () => {
  let proxy: FaultProxy;
  let memory: RedisChatMemory;

  beforeAll(async () => {
    proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
    memory = new RedisChatMemory({ url: proxy.url, redis: { keyPrefix: uniquePrefix() } });
    // Every script's text is sent once.
    const history = memory.history("first", { owner: "ann" });
    await history.addMessages([human("q")]);
    await history.getMessages();
    await memory.drain();
    await memory.sessions.list({ owner: "ann" });
  });
  afterAll(async () => {
    await memory.close();
    await proxy.stop();
  });

  async function tripsOf(action: () => Promise<unknown>): Promise<number> {
    await memory.drain();
    proxy.resetFlights();
    await action();
    return proxy.flights();
  }

  it("a read and a write take one each, also the first of a session", async () => {
    const history = memory.history("counted", { owner: "ann" });
    expect(await tripsOf(() => history.addMessages([human("q1")]))).toBe(1);
    expect(await tripsOf(() => history.getMessages())).toBe(1);
    expect(await tripsOf(() => memory.history("counted", { owner: "ann" }).addMessages([ai("a1")]))).toBe(1);
  });

  it("a page of a list takes two, and a count one", async () => {
    for (let index = 0; index < 40; index += 1) {
      await memory.history(`many ${index}`, { owner: "ann" }).addMessages([human("q")]);
    }
    expect(await tripsOf(() => memory.sessions.list({ owner: "ann", limit: 20 }))).toBe(2);
    expect(await tripsOf(() => memory.sessions.count({ owner: "ann" }))).toBe(1);
  });
});
