import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatMistralAI } from "@langchain/mistralai";
import fc from "fast-check";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { InMemorySessionStore, type MemoryEvent, RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { builtInProfiles, repairConversation, toModel, validateConversation } from "../../src/entries/structure.js";
import { HistoryManager } from "../../src/entries/tool-loop.js";
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.js";

type Fields = Readonly<Record<string, unknown>>;
const ttls = { short: {}, five: { ttl: "5m" }, hour: { ttl: "1h" } };
type Ttl = keyof typeof ttls;
type Provider = "anthropic" | "bedrock";

const text = { type: "text", text: "words" };
const blocks = (provider: Provider, ttl: Ttl | undefined): Fields[] =>
  ttl === undefined
    ? [text]
    : provider === "anthropic"
      ? [{ ...text, cache_control: { type: "ephemeral", ...ttls[ttl] } }]
      : [text, { cachePoint: { type: "default", ...ttls[ttl] } }];

/** A message of each kind in turn, with marks as they are given. */
function conversation(provider: Provider, marks: readonly (Ttl | undefined)[]): BaseMessage[] {
  const list = marks.flatMap((mark, index): BaseMessage[] => {
    const content = blocks(provider, mark) as never;
    const id = `c${index}`;
    return [
      new HumanMessage(index % 3 === 0 ? { content } : "q"),
      ...(index % 3 === 2
        ? [
            new AIMessage({ content: "", tool_calls: [{ id, name: "lookup", args: {} }] }),
            new ToolMessage({ content, tool_call_id: id, name: "lookup" }),
          ]
        : []),
      new AIMessage(index % 3 === 1 ? { content } : "a"),
    ];
  });
  return [...list, new HumanMessage("And?")];
}

function marksIn(messages: readonly BaseMessage[]): Fields[] {
  const all = messages.flatMap(({ content }) => (typeof content === "string" ? [] : (content as unknown as Fields[])));
  return all.map(({ cache_control: mark, cachePoint }) => (mark ?? cachePoint) as Fields).filter(Boolean);
}

const anyMark = fc.constantFrom<(Ttl | undefined)[]>(undefined, "short", "five", "hour");

it.each<Provider>(["anthropic", "bedrock"])("the newest four marks go to %s, an hour never behind less", (profile) => {
  fc.assert(
    fc.property(fc.array(anyMark), fc.nat(5), (marks, tools) => {
      const given = conversation(profile, marks);
      const marked = Array.from({ length: tools }, () => ({ name: "lookup", ...blocks("anthropic", "short")[0] }));
      const options = { profile, purpose: "model-input", tools: [{ name: "lookup" }, ...marked] } as const;
      const before = JSON.stringify(given);
      const { messages, repairs } = repairConversation(given, options);
      const sent = marksIn(messages);
      expect(sent).toHaveLength(Math.min(marks.filter(Boolean).length, Math.max(0, 4 - tools)));
      const short = tools > 0 ? 0 : sent.findIndex(({ ttl }) => ttl !== "1h");
      expect(sent.slice(short < 0 ? sent.length : short).filter(({ ttl }) => ttl === "1h")).toEqual([]);
      expect(messages.map((message) => message.text)).toEqual(given.map((message) => message.text));
      // The newest stay: those of the last messages that had some.
      const markedAt = given.flatMap((message, index) => (marksIn([message]).length > 0 ? [index] : []));
      const keptAt = messages.flatMap((message, index) => (marksIn([message]).length > 0 ? [index] : []));
      expect(keptAt).toEqual(markedAt.slice(markedAt.length - keptAt.length));
      expect(repairs.filter(({ rule }) => rule === "S38").length > 0).toBe(
        sent.length < marks.filter(Boolean).length || JSON.stringify(sent) !== JSON.stringify(marksIn(given)),
      );
      expect(repairConversation(messages, options).repairs).toEqual([]);
      expect(JSON.stringify(given)).toBe(before);
    }),
  );
});

it("a stored history may hold any number of marks", () => {
  const given = conversation("anthropic", ["short", "short", "short", "short", "hour"]);
  expect(validateConversation(given, { profile: "anthropic" })).toEqual([]);
});

describe("pictures and files", () => {
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
  const list = (count: number) =>
    Array.from({ length: count }, (_, index) => [
      new HumanMessage({ content: [{ type: "text", text: `q${index}` }, picture] }),
      new AIMessage("a"),
    ]).flat();
  const isNote = ({ text: said }: BaseMessage) => said.endsWith("(image left out)");

  it.each([
    ["anthropic", 100],
    ["mistral", 8],
    ["bedrock", Infinity],
    [{ ...builtInProfiles["openai-chat"], name: "azure", maxMedia: 50 }, 50],
  ] as const)("go to the provider up to its number, the newest first (%#)", (profile, max) => {
    const given = [...list(110), new HumanMessage("And?")];
    const options = { profile, purpose: "model-input" } as const;
    const { messages, repairs } = repairConversation(given, options);
    const notes = messages.flatMap((message, index) => (isNote(message) ? [index / 2] : []));
    expect(notes).toEqual([...Array(Math.max(0, 110 - max)).keys()]);
    expect(repairs.every(({ rule }) => rule === "S39")).toBe(true);
    expect(validateConversation(messages, options)).toEqual([]);
    expect(validateConversation(given, { profile })).toEqual([]);
  });

  it("that are left out of a request are told by an event", async () => {
    const events: MemoryEvent[] = [];
    const memory = new RedisChatMemory({ store: new InMemorySessionStore(), onEvent: (event) => events.push(event) });
    await memory.history("s").addMessages(list(9));
    const model = new ChatMistralAI({ model: "mistral-large-latest", apiKey: "none" });
    const generate = jest.spyOn(model, "_generate").mockResolvedValue({
      generations: [{ text: "a", message: new AIMessage("a") }],
    });
    await withRedisMemory(model, { memory }).invoke("And?", { configurable: { sessionId: "s" } });
    expect(generate.mock.calls[0]![0].filter(isNote)).toHaveLength(1);
    expect(events).toContainEqual({ type: "repaired", sessionId: "s", rules: ["S39"] });
  });
});

describe("requests to a server that counts marks", () => {
  let server: ProviderServer;
  beforeAll(async () => {
    server = await startProviderServer({ kind: "anthropic" });
  });
  afterAll(() => server.close());
  const claude = () =>
    new ChatAnthropic({ model: "claude-opus-4-8", apiKey: "none", anthropicApiUrl: server.url, maxRetries: 0 });
  const marked = (content: string) =>
    new HumanMessage({ content: blocks("anthropic", "hour"), name: content } as never);
  const tool = {
    name: "lookup",
    description: "Looks.",
    input_schema: { type: "object", properties: {} },
    cache_control: { type: "ephemeral" },
  };

  it("are accepted with marks in tools and messages", async () => {
    const model = claude().bindTools([tool as never]);
    const given = conversation("anthropic", ["hour", "hour", "hour", "hour", "hour"]);
    await model.invoke((await toModel(given, { model })).messages);
  });

  it("are accepted from a loop of one's own, with marks in its tools and its system text", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    const system = new SystemMessage({
      content: [...blocks("anthropic", "short"), ...blocks("anthropic", "five")],
    } as never);
    for (let turn = 0; turn < 5; turn += 1) {
      await memory.withTurn(
        "loop",
        async (_, { ask, finish }) =>
          finish(
            await ask({ model: claude(), system, tools: [tool] }, (messages) =>
              claude()
                .bindTools([tool as never])
                .invoke([system, ...messages]),
            ),
          ),
        { input: marked(`q${turn}`) },
      );
    }
    expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
  });

  it.each(["auto", "anthropic"] as const)("are accepted from a HistoryManager with the profile %s", async (profile) => {
    const model = claude().bindTools([tool as never]);
    const history = new RedisChatMemory({ store: new InMemorySessionStore() }).history("manager");
    await history.addMessages(conversation("anthropic", ["hour", "hour", "hour", "hour", "hour"]).slice(0, -1));
    const manager = new HistoryManager({ history, maxInputTokens: 100_000, model, tools: [tool], profile });
    const { messages } = await manager.getHistoryForModelCall({
      originalUserMessage: "And?",
      renderedUserMessage: "And?",
      renderedSystemMessage: "Be brief.",
    });
    await model.invoke(messages);
    expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
  });

  it("are accepted from an agent with those of its user", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore(), profile: "auto" });
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model: claude(), tools: [tool as never], middleware, systemPrompt: "Be brief." });
    for (let turn = 0; turn < 7; turn += 1) {
      await agent.invoke({ messages: [marked(`q${turn}`)] }, { configurable: { sessionId: "marks" } });
    }
    expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
  });
});
