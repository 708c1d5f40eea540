import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { RedisToolInvocationHistory } from "../../src/formats/tool-log/tool-invocation-history.js";
import type { RedisToolInvocationHistoryOptions } from "../../src/formats/tool-log/tool-invocation-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";

const run = { name: "search", inputs: { query: "Oslo" }, outputs: "4 °C", status: "success" };

/** A log of the session `s` in the store, unless options name another one. */
function logIn(
  store: InMemorySessionStore,
  options: Omit<RedisToolInvocationHistoryOptions, "history" | "memory"> = {},
  settings: MemorySettings = {},
): RedisToolInvocationHistory {
  return new RedisToolInvocationHistory({
    sessionId: "s",
    ...options,
    memory: new RedisChatMemory({ store, ...settings }),
  });
}

class SlowStore extends InMemorySessionStore {
  constructor() {
    super();
    const { data } = this;
    const writeSide = data.writeSide.bind(data);
    data.writeSide = async (...call) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return writeSide(...call);
    };
  }
}

const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
const history = memory.history("s");

describe("RedisToolInvocationHistory", () => {
  it("keeps records with the session, in order, for all instances", async () => {
    const store = new InMemorySessionStore();
    const one = logIn(store);
    const other = logIn(store);
    const records = [
      await one.addInvocation(run),
      await other.addInvocation({ ...run, status: "error", toolCallId: "c" }),
      await one.addInvocation(run),
    ];
    expect(await other.toList()).toEqual(records);
    expect(await other.filter({ toolCallId: "c" })).toEqual([records[1]]);
    expect(await one.length).toBe(3);
    const seen = [];
    for await (const record of one) {
      seen.push(record);
    }
    expect(seen).toEqual(records);
    expect(await logIn(store, { sessionId: "other" }).toList()).toEqual([]);
  });

  it("clips long inputs and outputs, and says how long they were", async () => {
    const log = logIn(new InMemorySessionStore(), { maxCharacters: 10 });
    const record = await log.addInvocation({
      ...run,
      inputs: { text: "x".repeat(20) },
      outputs: `${"y".repeat(9)}😀`,
      meta: { a: 1 },
    });
    expect(record).toMatchObject({
      inputs: '{"text":"x',
      outputs: "y".repeat(9),
      meta: { a: 1, clippedInputs: 31, clippedOutputs: 11 },
    });
    expect(await log.toList()).toEqual([record]);
    expect((await log.addInvocation({ ...run, inputs: 1, outputs: "short" })).meta).toEqual({});
  });

  it("skips a record that cannot be read, and reports it", async () => {
    const store = new InMemorySessionStore();
    const events: MemoryEvent[] = [];
    const log = logIn(store, {}, { onEvent: (event) => events.push(event) });
    await store.data.writeSide({ id: "s" }, { set: { "tool:0": "{", "tool:1": '{"secret":1}' } });
    const record = await log.addInvocation(run);
    expect(await log.toList()).toEqual([record]);
    expect(events.filter(({ type }) => type === "record_skipped")).toHaveLength(2);
    expect(JSON.stringify(events)).not.toContain("secret");
  });

  it("has written every tool run when the run ends, even if LangChain runs callbacks in the background", async () => {
    const weather = tool(({ city }) => `4 °C in ${city}`, {
      name: "weather",
      description: "",
      schema: z.object({ city: z.string() }),
    });
    const log = logIn(new SlowStore());
    process.env["LANGCHAIN_CALLBACKS_BACKGROUND"] = "true";
    try {
      await weather.invoke(
        { type: "tool_call", id: "c1", name: "weather", args: { city: "Oslo" } },
        { callbacks: [log.callbackHandler()] },
      );
    } finally {
      delete process.env["LANGCHAIN_CALLBACKS_BACKGROUND"];
    }
    expect(await log.filter({ toolCallId: "c1" })).toMatchObject([
      { name: "weather", outputs: "4 °C in Oslo", status: "success" },
    ]);
  });

  it.each<[string, string, object]>([
    ["no source", "history", {}],
    ["a history beside a memory", "history", { history, memory, sessionId: "s" }],
    ["what is no history", "history", { history: { getMessages: () => [] } }],
    ["a text for a history", "history", { history: "s" }],
    ["what is no memory", "memory", { memory: {}, sessionId: "s" }],
    ["a memory without a session", "sessionId", { memory }],
    ["an empty session id", "sessionId", { memory, sessionId: "" }],
    ["a session beside that of a history", "sessionId", { history, sessionId: "s" }],
    ["a limit of nothing", "limit", { history, limit: 0 }],
    ["a connection of its own", "url", { history, url: "redis://localhost" }],
    ["an unknown option", "limmit", { history, limmit: 1 }],
  ])("refuses %s, with an error that names the option", (_, option, options) => {
    expect(() => new RedisToolInvocationHistory(options as never)).toThrow(
      expect.objectContaining({ name: "ConfigurationError", option }) as Error,
    );
  });

  it("serves a history that overrides addMessages only: it writes no messages", async () => {
    class Upper extends RedisChatMessageHistory {
      override addMessages(messages: BaseMessage[]): Promise<void> {
        return super.addMessages(messages.map(({ text }) => new HumanMessage(text.toUpperCase())));
      }
    }
    const upper = new Upper({ sessionId: "upper", store: new InMemorySessionStore() });
    expect(await new RedisToolInvocationHistory({ history: upper }).addInvocation(run)).toMatchObject(run);
  });

  it("belongs to the owner of its history", async () => {
    const owned = new RedisChatMemory({ store: new InMemorySessionStore() });
    await new RedisToolInvocationHistory({ history: owned.history("s", { owner: "ann" }) }).addInvocation(run);
    const other = new RedisToolInvocationHistory({ history: owned.history("s", { owner: "bob" }) });
    await expect(other.addInvocation(run)).rejects.toMatchObject({ code: "other_owner" });
    await expect(other.toList()).rejects.toMatchObject({ code: "other_owner" });
  });
});
