import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import type { BasePromptValueInterface } from "@langchain/core/prompt_values";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { type RunnableLike, RunnablePassthrough } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createAgent } from "langchain";
import {
  approximateCounter,
  type ChatHistoryReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryTruncationReducer,
  type RedisChatMemory,
  withRedisMemory,
} from "../../src/entries/index.js";
import { wired } from "../../src/entries/structure.js";
import { HistoryManager } from "../../src/entries/tool-loop.js";
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.js";
import { listIn } from "../../testing/wire/json.js";
import { closeMemories, events, newMemory } from "../support/memories.js";

let server: ProviderServer;

beforeEach(async () => {
  const reply = () => ({ thinking: "So it is.", content: "It is so." });
  server = await startProviderServer({ kind: "anthropic", reply });
});

afterEach(async () => {
  await closeMemories();
  await server.close();
});

const tokenCounter = approximateCounter();
const reducers: Record<string, () => ChatHistoryReducer | undefined> = {
  none: () => undefined,
  truncation: () => new ChatHistoryTruncationReducer({ targetCount: 4 }),
  "truncation with a threshold": () => new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 4 }),
  tokens: () => new ChatHistoryTokenReducer({ maxTokens: 120, tokenCounter }),
  summary: () =>
    new ChatHistorySummarizationReducer({
      model: new FakeListChatModel({ responses: ["A summary."] }),
      targetCount: 4,
      tokenCounter,
    }),
};

const claude = () =>
  new ChatAnthropic({ model: "claude-opus-5-5", apiKey: "none", anthropicApiUrl: server.url, maxRetries: 0 });

function chainOf(memory: RedisChatMemory, system = "Be brief.", model: RunnableLike = claude()) {
  const prompt = ChatPromptTemplate.fromMessages([
    ["system", system],
    ["placeholder", "{history}"],
    ["human", "{input}"],
  ]);
  const runnable = prompt.pipe(model);
  return withRedisMemory(runnable, { memory, inputMessagesKey: "input", historyMessagesKey: "history" });
}

const ann = { configurable: { sessionId: "ann" } };
type Door = "invoke" | "stream";

async function ask(chain: ReturnType<typeof chainOf>, door: Door, input: string): Promise<void> {
  if (door === "invoke") {
    await chain.invoke({ input }, ann);
    return;
  }
  for await (const _ of await chain.stream({ input }, ann)) {
    // Read to its end.
  }
}

const newChainMemory = (reducer?: ChatHistoryReducer) =>
  newMemory({ profile: "anthropic", ...(reducer && { reducer }) });

function thoughtsSent(): number {
  const messages = listIn(server.requests.at(-1)!.body["messages"]);
  return messages.flatMap(({ content }) => listIn(content)).filter(({ type }) => type === "thinking").length;
}

describe.each<Door>(["invoke", "stream"])("a chain's requests to a model that binds its thoughts (%s)", (door) => {
  it.each(Object.keys(reducers))("are all accepted with the reducer: %s", async (name) => {
    const chain = chainOf(newChainMemory(reducers[name]!()));
    for (let turn = 0; turn < 8; turn += 1) {
      await ask(chain, door, `Question ${turn}, ${"and more ".repeat(10)}?`);
    }
    expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
    expect(server.requests).toHaveLength(8);
    expect(thoughtsSent() === 7).toBe(name === "none");
  });

  const changes: Record<string, (memory: RedisChatMemory) => Promise<string>> = {
    "another system prompt": () => Promise.resolve("Be kind."),
    "a rewind": async (memory) => {
      const [, , , , question] = await memory.history("ann").getMessages();
      await memory.history("ann").rewind(question!.id!);
      return "Be brief.";
    },
    "an edited question": async (memory) => {
      const [, , , , question] = await memory.history("ann").getMessages();
      await memory.history("ann").replaceFrom(question!.id!, [new HumanMessage("Another question?")]);
      return "Be brief.";
    },
  };

  it.each(Object.keys(changes))("are all accepted after %s", async (name) => {
    const memory = newChainMemory();
    for (const turn of [1, 2, 3]) {
      await ask(chainOf(memory), door, `Question ${turn}?`);
    }
    const system = await changes[name]!(memory);
    for (const turn of [4, 5]) {
      await ask(chainOf(memory, system), door, `Question ${turn}?`);
    }
    expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
    expect(server.requests).toHaveLength(5);
    expect(thoughtsSent()).toBeGreaterThan(0);
  });
});

describe("a chain's model that binds its thoughts", () => {
  const models: Record<string, () => RunnableLike> = {
    itself: claude,
    "wired by hand": () => wired(claude()),
    "with retries": () => claude().withRetry({ stopAfterAttempt: 2 }),
    "with fallbacks": () => claude().withFallbacks([claude()]),
    "with bound tools": () => claude().bindTools([{ name: "lookup", input_schema: { type: "object" } }]),
    "in a chain with a config": () => chat.pipe(claude()).withConfig({ tags: ["inner"] }),
  };
  const chat = new RunnablePassthrough<BasePromptValueInterface>();

  it.each(Object.keys(models))("gets its thoughts back: %s", async (name) => {
    const chain = chainOf(newMemory(), "Be brief.", models[name]!());
    for (const turn of [1, 2, 3]) {
      await ask(chain, "invoke", `Question ${turn}?`);
    }
    expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
    expect(thoughtsSent()).toBe(2);
  });

  it("gets none of earlier turns where an agent in the chain hides its prompt, and the memory says so", async () => {
    const agent = createAgent({ model: claude(), tools: [], systemPrompt: "Be brief." });
    const chain = withRedisMemory(agent, { memory: newMemory() });
    for (const content of ["Question 1?", "Question 2?"]) {
      await chain.invoke({ messages: [new HumanMessage(content)] }, ann);
    }
    expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
    expect(thoughtsSent()).toBe(0);
    expect(events).toContainEqual({ type: "repaired", sessionId: "ann", rules: ["S32"] });
  });
});

it("gives a loop of a HistoryManager its thoughts back, but those behind another system text", async () => {
  const history = newMemory().history("ann");
  const model = claude();
  const sent: number[] = [];
  for (const system of ["Be brief.", "Be brief.", "Be kind.", "Be kind."]) {
    const manager = new HistoryManager({ history, maxInputTokens: 10_000, model });
    const question = `Question ${sent.length}?`;
    const { messages } = await manager.getHistoryForModelCall({
      originalUserMessage: question,
      renderedUserMessage: question,
      renderedSystemMessage: system,
    });
    manager.addAssistantMessage(await model.invoke(messages));
    await manager.commit();
    sent.push(thoughtsSent());
  }
  expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
  expect(sent).toEqual([0, 1, 0, 1]);
  expect(events).toContainEqual(expect.objectContaining({ type: "thinking_dropped", cause: "system" }));
});
