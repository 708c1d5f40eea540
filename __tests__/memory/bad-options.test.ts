import type { BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { readRunNames, sessionConfig } from "../../src/memory/session/identity.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { human } from "../support/messages.js";

const store = new InMemorySessionStore();
const url = "redis://user:SECRET@127.0.0.1:1";

function errorOf(make: () => unknown): { code?: string; option?: string; message?: string } {
  try {
    make();
  } catch (error) {
    return error as { code: string; option: string; message: string };
  }
  return {};
}

const badNumbers = [0, -1, 1.5, "7", Number.NaN, Number.POSITIVE_INFINITY, null, true];

describe("invalid options get a typed error that names the option", () => {
  const numbers: Readonly<Record<string, (value: unknown) => object>> = {
    sessionTTL: (value) => ({ sessionTTL: value }),
    "sessionTTL.seconds": (value) => ({ sessionTTL: { seconds: value } }),
    "redis.commandTimeout": (value) => ({ redis: { commandTimeout: value } }),
    "redis.waitReplicas": (value) => ({ redis: { waitReplicas: value } }),
    "redis.limits.maxMessageBytes": (value) => ({ redis: { limits: { maxMessageBytes: value } } }),
    "redis.limits.maxAppendBytes": (value) => ({ redis: { limits: { maxAppendBytes: value } } }),
  };

  it.each(Object.entries(numbers))("%s: zero, negative, fractional, text", (option, optionsWith) => {
    for (const value of badNumbers) {
      expect(errorOf(() => new RedisChatMemory({ url, ...optionsWith(value) } as never))).toMatchObject({
        code: "invalid_option",
        option,
      });
    }
  });

  it.each([
    [{ reduceWhen: true }, "reduceWhen"],
    [{ retention: "forever" }, "retention"],
    [{ retention: { discard: { ids: 1 } } }, "retention"],
    [{ sessionTTL: { seconds: 60, refreshOnRead: "yes" } }, "sessionTTL.refreshOnRead"],
    [{ reducer: {} }, "reducer"],
    [{ reducer: 7 }, "reducer"],
    [{ reducer: null }, "reducer"],
    [{ onEvent: "log" }, "onEvent"],
    [{ onConflict: "replace" }, "onConflict"],
    [{ onDamage: "ignore" }, "onDamage"],
    [{ tokenCounter: (text: string) => text.length }, "tokenCounter"],
    [{ tokenCounter: {} }, "tokenCounter"],
    [{ beforeStore: "redact" }, "beforeStore"],
    [{ onDamage: { record: "throw" } }, "onDamage.record"],
    [{ titles: { model: "gpt" } }, "titles.model"],
    [{ titles: { model: {} } }, "titles.model"],
    [{ store: {} }, "store"],
    [{ profile: null }, "profile"],
    [{ profile: "unknown" }, "profile"],
    [{ sessionTtl: 60 }, "sessionTtl"],
  ])("%j", (options, option) => {
    expect(errorOf(() => new RedisChatMemory({ store, ...options } as never))).toMatchObject({
      code: "invalid_option",
      option,
    });
  });

  it.each([
    { onConflict: "keep" },
    { onDamage: { session: "rebuild", record: "error" } },
    { retention: "discard" },
    { reducer: "none" },
    { beforeStore: (message: BaseMessage) => message },
  ] as const)("and others are taken: %j", (options) => {
    expect(errorOf(() => new RedisChatMemory({ store, ...options }))).toEqual({});
  });

  it.each([7, ""])("sessionId %j of a chain, an agent and its steering", (sessionId) => {
    const memory = new RedisChatMemory({ store });
    const options = { memory, sessionId } as never;
    for (const make of [
      () => withRedisMemory(new FakeListChatModel({ responses: [] }), options),
      () => redisMemoryMiddleware(options),
    ]) {
      expect(errorOf(make)).toMatchObject({ code: "invalid_option", option: "sessionId" });
    }
  });

  it.each(["app{x}", "{", "a}b", "", 7, null])("keyPrefix %j", (keyPrefix) => {
    expect(errorOf(() => new RedisChatMemory({ url, redis: { keyPrefix } } as never))).toMatchObject({
      code: "invalid_option",
      option: "redis.keyPrefix",
    });
  });

  it("exactly one of client, url, config and store is required", () => {
    expect(errorOf(() => new RedisChatMemory({} as never)).code).toBe("invalid_option");
    expect(errorOf(() => new RedisChatMemory(undefined as never)).code).toBe("invalid_option");
    expect(errorOf(() => new RedisChatMemory({ store, url } as never))).toMatchObject({
      code: "invalid_option",
      option: "url",
    });
    expect(errorOf(() => new RedisChatMemory({ store, redis: { keyPrefix: "x" } }))).toMatchObject({
      option: "redis",
      message: expect.stringMatching(/"redis" cannot be combined with "store"; give it to the store instead\.$/),
    });
    expect(errorOf(() => new RedisChatMemory({ url, config: { host: "127.0.0.1" } } as never)).code).toBe(
      "invalid_option",
    );
  });

  it("never shows a secret", () => {
    const { message } = errorOf(() => new RedisChatMemory({ url: { url } } as never));
    expect(message).not.toContain("SECRET");
  });

  it.each([undefined, "", 7, null])("sessionId %j", (sessionId) => {
    expect(errorOf(() => new RedisChatMessageHistory({ store, sessionId } as never))).toMatchObject({
      option: "sessionId",
    });
    expect(errorOf(() => new RedisChatMemory({ store }).history(sessionId as never))).toMatchObject({
      option: "sessionId",
    });
  });

  it.each(["x".repeat(513), "\ud800"])("refuses a sessionId that cannot be a key", async (sessionId) => {
    const history = new RedisChatMessageHistory({ store, sessionId });
    await expect(history.getMessages()).rejects.toMatchObject({ code: "invalid_option", option: "sessionId" });
    await expect(history.addUserMessage("hello")).rejects.toMatchObject({
      code: "invalid_option",
      option: "sessionId",
    });
  });

  it.each(["{a}", "a*b?[c]", "line\nbreak", "ä/ö ü", "__proto__", "x".repeat(512)])(
    "accepts any other text as a session id: %j",
    async (sessionId) => {
      const history = new RedisChatMessageHistory({ store, sessionId });
      await history.addUserMessage(`hello ${sessionId.length}`);
      expect((await history.getMessages()).map(({ text }) => text)).toEqual([`hello ${sessionId.length}`]);
    },
  );

  it("targetCount and thresholdCount of the reducer", () => {
    for (const value of badNumbers) {
      expect(errorOf(() => new ChatHistoryTruncationReducer({ targetCount: value as never }))).toMatchObject({
        option: "targetCount",
      });
    }
    for (const value of badNumbers.filter((bad) => bad !== 0)) {
      expect(
        errorOf(() => new ChatHistoryTruncationReducer({ targetCount: 3, thresholdCount: value as never })),
      ).toMatchObject({ option: "thresholdCount" });
    }
  });
});

describe("a field of a run's config that looks like another", () => {
  it.each([
    ["where an option names the session", { onwer: "ann" }, true],
    ["beside thread_id", { thread_id: "s", onwer: "ann" }, false],
  ])("is refused %s", (_, configurable, namesSession) => {
    expect(errorOf(() => readRunNames(configurable, "chain", { namesSession }))).toMatchObject({ option: "onwer" });
  });

  it("is the application's own where thread_id or an option names the session that it looks like", () => {
    expect(errorOf(() => readRunNames({ thread_id: "s", sesionId: "x" }, "chain"))).toEqual({});
    expect(errorOf(() => readRunNames({ sesionId: "x" }, "chain", { namesSession: true }))).toEqual({});
    expect(errorOf(() => readRunNames({ sesionId: "x" }, "chain"))).toMatchObject({ option: "sesionId" });
  });

  it("has an owner that can be one", () => {
    expect(errorOf(() => sessionConfig({ owner: "x".repeat(513) }))).toMatchObject({ option: "owner" });
  });
});

it.each([
  [undefined, /names no session; .+/],
  ["", /names no session; .+/],
  [7, /is a number; pass it as a string/],
  [7n, /is a number; pass it as a string/],
])("a run whose session id is %s says what is missing", async (id, message) => {
  const model = new FakeListChatModel({ responses: ["answer"] });
  const chain = withRedisMemory(model, { memory: new RedisChatMemory({ store }), sessionId: () => id as never });
  await expect(chain.invoke("q")).rejects.toMatchObject({
    option: "sessionId",
    message: expect.stringMatching(message),
  });
});

it("an option of append that there is not is refused, also where it is a text as the name of a turn is", async () => {
  const history = new RedisChatMessageHistory({ sessionId: "s", store });
  for (const options of [{ turnID: "job-1" }, { turnId: "job-1", note: "x" }]) {
    await expect(history.append([human("hello")], options as never)).rejects.toMatchObject({ code: "invalid_option" });
  }
});

it.each([null, 5, "turnId", true, { turnId: 5 }, { turnId: "" }, { turnId: null }, { turn: { done: true } }])(
  "%j is not what append takes as its options",
  async (options) => {
    const history = new RedisChatMessageHistory({ sessionId: "refused", store });
    const refused = history.append([human("hello")], options as never);
    await expect(refused).rejects.toMatchObject({ name: "ConfigurationError", code: "invalid_option" });
    expect(await history.getTranscript()).toEqual([]);
  },
);

describe("the owner of a session", () => {
  const memory = new RedisChatMemory({ store });
  const longest = "é".repeat(256);

  it.each([
    ["is a number", 7],
    ["is null", null],
    ["is empty", ""],
    ["is half a character", "\ud800"],
    ["is longer than 512 bytes", `${longest}!`],
    ["is longer than 512 characters", "x".repeat(513)],
  ])("is refused where it %s", (_, owner) => {
    expect(errorOf(() => memory.history("s", { owner: owner as never }))).toMatchObject({
      code: "invalid_option",
      option: "owner",
    });
  });

  it("may have 512 characters", () => {
    expect(errorOf(() => memory.history("s", { owner: "x".repeat(512) }))).toEqual({});
  });

  it("may have 512 bytes", async () => {
    const history = memory.history("of the longest", { owner: longest });
    await history.addMessages([human("hello")]);
    expect(await history.getMessages()).toHaveLength(1);
  });
});

describe("the names of a session", () => {
  const labelled = (names: object) => new RedisChatMemory({ store }).sessions.update("labelled", names);

  it.each([
    ["title", { title: 7 }],
    ["title", { title: "\ud800" }],
    ["title", { title: "x".repeat(1_001) }],
    ["title", { title: "é".repeat(501) }],
    ["metadata", { metadata: "text" }],
    ["metadata", { metadata: [] }],
    ["metadata", { metadata: { list: [1, Number.NaN] } }],
    ["metadata", { metadata: { of: "x".repeat(65_528) } }],
  ])("have no such %s: %j", async (option, names) => {
    await expect(labelled(names)).rejects.toMatchObject({ code: "invalid_option", option });
  });

  it("may have 1,000 bytes of title and 16,384 of metadata", async () => {
    await new RedisChatMemory({ store }).history("labelled").addMessages([human("hello")]);
    for (const title of ["é".repeat(500), "x".repeat(1_000)]) {
      const names = { title, metadata: { of: "x".repeat(16_375) } };
      await labelled(names);
      expect(await new RedisChatMemory({ store }).sessions.get("labelled")).toMatchObject(names);
    }
  });

  it("are not misspelt", () => {
    expect(errorOf(() => new RedisChatMemory({ store }).history("s", { ownr: "ann" } as never))).toMatchObject({
      code: "invalid_option",
      option: "ownr",
    });
  });

  it.each([null, 7, "ann", []])("are no %j", (identity) => {
    expect(errorOf(() => new RedisChatMemory({ store }).history("s", identity as never))).toMatchObject({
      code: "invalid_option",
      option: "options",
    });
  });

  it.each([{}, { title: "" }])("may be given by a later writer than its owner, after %j", async (none) => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    await memory.history("s", { owner: "ann", ...none }).addMessages([human("hello")]);
    const names = { title: "Oslo", metadata: { pinned: true } };
    await memory.history("s", { owner: "ann", ...names }).addMessages([human("again")]);
    expect(await memory.sessions.get("s")).toMatchObject(names);
  });

  it("are listed as a whole where they have 1,024 bytes", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    const metadata = { a: "x".repeat(1_010), b: 1 };
    expect(JSON.stringify(metadata)).toHaveLength(1_024);
    await memory.history("s", { owner: "ann", metadata }).addMessages([human("hello")]);
    expect((await memory.sessions.list({ owner: "ann" })).sessions).toMatchObject([{ metadata }]);
  });
});
