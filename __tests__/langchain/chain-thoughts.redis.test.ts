import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { FakeListChatModel } from "@langchain/core/utils/testing";
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
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.js";
import { listIn } from "../../testing/wire/json.js";
import { closeMemories, newMemory } from "../support/memories.js";

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

function chainOf(memory: RedisChatMemory, system = "Be brief.") {
  const model = new ChatAnthropic({
    model: "claude-opus-5-5",
    apiKey: "none",
    anthropicApiUrl: server.url,
    maxRetries: 0,
  });
  const prompt = ChatPromptTemplate.fromMessages([
    ["system", system],
    ["placeholder", "{history}"],
    ["human", "{input}"],
  ]);
  const runnable = prompt.pipe(wired(model));
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
