import type { BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { readRunNames, sessionConfig } from "../../src/memory/session/identity.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { human } from "../support/messages.js";

const store = new InMemorySessionStore();

function errorOf(make: () => unknown): { code?: string; option?: string; message?: string } {
  try {
    make();
  } catch (error) {
    return error as { code: string; option: string; message: string };
  }
  return {};
}

describe("invalid options get a typed error that names the option", () => {
  it.each([
    { onConflict: "keep" },
    { onDamage: { session: "rebuild", record: "error" } },
    { retention: "discard" },
    { reducer: "none" },
    { beforeStore: (message: BaseMessage) => message },
  ] as const)("and others are taken: %j", (options) => {
    expect(errorOf(() => new RedisChatMemory({ store, ...options }))).toEqual({});
  });

  it.each([undefined, "", 7, null])("sessionId %j", (sessionId) => {
    expect(errorOf(() => new RedisChatMessageHistory({ store, sessionId } as never))).toMatchObject({
      option: "sessionId",
    });
    expect(errorOf(() => new RedisChatMemory({ store }).history(sessionId as never))).toMatchObject({
      option: "sessionId",
    });
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

const url = "redis://localhost:1";

describe("client, url, config and store", () => {
  it("compile one at a time, and are refused at run time in any other number", () => {
    // @ts-expect-error: none is given
    expect(() => new RedisChatMemory({ sessionTTL: 60 })).toThrow("exactly one");
    // @ts-expect-error: two are given
    expect(() => new RedisChatMemory({ url, config: {} })).toThrow("exactly one");
    // @ts-expect-error: two are given
    expect(() => new RedisChatMemory({ url, store })).toThrow("url");
    // @ts-expect-error: two are given
    expect(() => new RedisChatMessageHistory({ sessionId: "s", url, store })).toThrow("url");
    expect(new RedisChatMemory({ store }).history("s").sessionId).toBe("s");
  });
});

/** A complete store on which some methods are replaced. */
function storeWith(methods: object): InMemorySessionStore {
  return Object.assign(new InMemorySessionStore(), methods);
}

describe("a store is checked where it is given", () => {
  it.each([null, 7, "memory", () => undefined, {}, storeWith({ append: undefined }), storeWith({ lists: undefined })])(
    "%p is no store",
    (store) => {
      const message = 'option "store" must be an InMemorySessionStore or a RedisSessionStore.';
      const expected = { code: "invalid_option", option: "store", message: expect.stringContaining(message) };
      expect(() => new RedisChatMemory({ store } as never)).toThrow(expect.objectContaining(expected));
    },
  );

  it("a given store is left open by close()", async () => {
    let closed = 0;
    await new RedisChatMemory({ store: storeWith({ close: async () => void (closed += 1) }) }).close();
    expect(closed).toBe(0);
  });
});
