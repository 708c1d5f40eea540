import type { RunnableConfig } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { ChatMemoryModule } from "../../src/memory/histories/chat-memory-module.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionConfig, type SessionFields, type SessionIdOption } from "../../src/memory/session/identity.js";
import { newMemory } from "../support/memories.js";
import { ai, human } from "../support/messages.js";

const model = () => new FakeListChatModel({ responses: ["a"] });
type Configurable = Record<string, unknown>;
type Run = (memory: RedisChatMemory, configurable: Configurable, sessionId?: string) => Promise<unknown>;

const named = (sessionId: string | undefined) =>
  sessionId === undefined ? {} : { sessionId: (() => sessionId) as SessionIdOption<unknown> };

const chain: Run = (memory, configurable, sessionId) =>
  withRedisMemory(model(), { memory, ...named(sessionId) }).invoke([human("q")], { configurable });
const agent: Run = (memory, configurable, sessionId) =>
  createAgent({
    model: model(),
    tools: [],
    middleware: [redisMemoryMiddleware({ memory, ...named(sessionId) })],
  }).invoke({ messages: [human("q")] }, { configurable });
const recall: Run = (memory, configurable) => new ChatMemoryModule({ memory }).invoke(undefined, { configurable });

const writers: [name: string, run: Run][] = [
  ["a chain", chain],
  ["an agent", agent],
];
const doors: [name: string, run: Run][] = [...writers, ["ChatMemoryModule", recall]];
const label = { title: "Oslo", metadata: { pinned: true } };

async function labelOf(memory: RedisChatMemory) {
  const { title, metadata } = (await memory.sessions.get("s"))!;
  return { title, metadata };
}

describe.each(writers)("title and metadata in the config of %s", (_, run) => {
  it("are given to a new session, and not to one that has them", async () => {
    const memory = newMemory();
    await run(memory, { sessionId: "s", owner: "ann", ...label });
    expect(await labelOf(memory)).toEqual(label);
    await run(memory, { sessionId: "s", owner: "ann", title: "Rome", metadata: {} });
    expect(await labelOf(memory)).toEqual(label);
  });

  it.each<[string, Configurable]>([
    ["title", { title: 7 }],
    ["title", { title: "x".repeat(1_001) }],
    ["metadata", { metadata: "pinned" }],
    ["owner", { owner: "" }],
    ["owner", { owner: 7 }],
    ["owner", { owner: null }],
    ["turnId", { turnId: 7 }],
    ["turnId", { turnId: "" }],
    ["turnId", { turnId: null }],
  ])("are refused where they cannot be stored: %s", async (option, configurable) => {
    const memory = newMemory();
    const running = run(memory, { sessionId: "s", ...configurable });
    await expect(running).rejects.toMatchObject({ name: "ConfigurationError", option });
    await expect(running).rejects.toThrow(`configurable`);
    expect(await memory.history("s").getTranscript()).toEqual([]);
  });
});

describe.each(doors)("a field that nobody reads, in the config of %s", (_, run) => {
  const misses = {
    sessionId: ["sessionID", "SessionId", "sesionId"],
    turnId: ["turnID", "turn_id", "trunId"],
    owner: ["Owner", "onwer", "owners"],
    title: ["Title", "tittle"],
    metadata: ["metaData", "metdata"],
  };

  it.each(Object.entries(misses).flatMap(([meant, fields]) => fields.map((field) => [field, meant])))(
    "is refused where it looks like one that is read: %s",
    async (field, meant) => {
      const memory = newMemory();
      const running = run(memory, { ...(meant !== "sessionId" && { sessionId: "s" }), [field!]: "x" });
      await expect(running).rejects.toMatchObject({ name: "ConfigurationError", option: field });
      await expect(running).rejects.toThrow(`did you mean "${meant}"?`);
    },
  );

  it("is the application's own where it looks like none, or stands beside the one that it looks like", async () => {
    const memory = newMemory();
    const own = {
      user_id: "u",
      tile: 3,
      title: undefined,
      tenant: "t",
      session: "t",
      turn: 3,
      checkpoint_ns: "",
      turns: 4,
    };
    await run(memory, { sessionId: "s", session_id: "x", ...own });
    await run(memory, { sessionId: "s", thread_id: "s", session_id: "x", ...own });
  });

  it("is refused beside the one that it looks like where only the case of letters differs", async () => {
    await expect(run(newMemory(), { sessionId: "s", sessionID: "x" })).rejects.toThrow('did you mean "sessionId"?');
  });
});

describe("fields of a run whose session is named by the option", () => {
  it.each(writers)("of %s may look like sessionId", async (_, run) => {
    const memory = newMemory();
    await run(memory, { sessionID: "x", session_id: "y" }, "s");
    expect(await memory.history("s").getTranscript()).toHaveLength(2);
  });
});

describe("the owner in the config of ChatMemoryModule", () => {
  it("is checked", async () => {
    const memory = newMemory();
    await memory.history("s", { owner: "ann" }).addMessages([human("q"), ai("a")]);
    const ask = (owner: string) =>
      new ChatMemoryModule({ memory }).invoke({}, sessionConfig({ sessionId: "s", owner }));
    expect(await ask("ann")).toBe("user: q\nassistant: a");
    await expect(ask("bob")).rejects.toMatchObject({ code: "other_owner" });
  });
});

describe("sessionConfig", () => {
  it("is a part of a run's config, with the fields that were given", async () => {
    const memory = newMemory();
    const fields = { sessionId: "s", turnId: "t", owner: "ann", ...label };
    const config: RunnableConfig = sessionConfig(fields);
    expect(config).toEqual({ configurable: fields });
    expect(sessionConfig({ owner: "ann" })).toEqual({ configurable: { owner: "ann" } });
    const asked = withRedisMemory(model(), { memory });
    await asked.invoke("q", sessionConfig(fields));
    await asked.invoke("q", { ...sessionConfig(fields), tags: ["retry"] });
    expect(await memory.history("s").getTranscript()).toHaveLength(2);
    expect(await labelOf(memory)).toEqual(label);
  });

  it.each<[unknown, string]>([
    [{ sessionID: "s" }, 'sessionConfig: there is no option "sessionID"; did you mean "sessionId"?'],
    [{ sessionId: 7 }, "sessionConfig: sessionId must be a non-empty string; without one, leave it out."],
    [{ title: "\uD800" }, "well-formed"],
    [undefined, "sessionConfig"],
  ])("refuses %j", (fields, message) => {
    expect(() => sessionConfig(fields as SessionFields)).toThrow(message);
  });
});
