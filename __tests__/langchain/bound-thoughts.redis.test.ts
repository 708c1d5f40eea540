import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { BasePromptValueInterface } from "@langchain/core/prompt_values";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { type RunnableLike, RunnablePassthrough } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import {
  approximateCounter,
  type ChatHistoryReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  ChatHistoryTruncationReducer,
  type RedisChatMemory,
  withRedisMemory,
} from "../../src/entries/index.js";
import { wired } from "../../src/entries/structure.js";
import { HistoryManager } from "../../src/entries/tool-loop.js";
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.js";
import { fieldsIn, listIn } from "../../testing/wire/json.js";
import { lookup } from "../support/agents.js";
import { events, newMemory } from "../support/memories.js";
import { all } from "../support/all.js";

let server: ProviderServer;
beforeEach(async () => {
  server = await startProviderServer({ kind: "anthropic", reply });
});
afterEach(async () => {
  await server.close();
});

/** Claude thinks and answers; before that it calls the tool `lookup`, if it has that, and thinks again. */
function reply(body: Readonly<Record<string, unknown>>) {
  const last = listIn(body["messages"]).at(-1)!;
  const isResult = listIn(last["content"]).some(({ type }) => type === "tool_result");
  const answer = { thinking: "So it is.", content: "It is so." };
  const call = {
    thinking: "I should look.",
    content: "I look.",
    toolCalls: [{ name: "lookup", arguments: { query: "x" } }],
  };
  return listIn(body["tools"]).some(({ name }) => name === "lookup") && !isResult ? call : answer;
}

const tokenCounter = approximateCounter();
const summarizer = () => new FakeListChatModel({ responses: ["A summary."] });
/** By how many messages and tokens a reducer of each kind leaves. */
const reducers: Record<string, (targetCount: number, maxTokens: number) => ChatHistoryReducer | undefined> = {
  none: () => undefined,
  truncation: (targetCount) => new ChatHistoryTruncationReducer({ targetCount }),
  "truncation with a threshold": (targetCount) =>
    new ChatHistoryTruncationReducer({ targetCount, thresholdCount: targetCount }),
  tokens: (_, maxTokens) => new ChatHistoryTokenReducer({ maxTokens, tokenCounter }),
  "tool results": () => new ChatHistoryToolResultReducer({ keepLast: 1, maxCharacters: 3 }),
  summary: (targetCount) => new ChatHistorySummarizationReducer({ model: summarizer(), targetCount, tokenCounter }),
};

const claude = () =>
  new ChatAnthropic({ model: "claude-opus-5-5", apiKey: "none", anthropicApiUrl: server.url, maxRetries: 0 });
const ann = { configurable: { sessionId: "ann", thread_id: "ann" } };

interface Setting {
  readonly memory: RedisChatMemory;
  readonly prompt?: string;
  readonly tools?: readonly unknown[];
  readonly more?: object;
}

function agentOf({ memory, prompt = "Be brief.", tools = [lookup], more = {} }: Setting) {
  const middleware = [redisMemoryMiddleware({ memory })];
  return createAgent({ model: claude(), tools: [...tools] as never, systemPrompt: prompt, middleware, ...more });
}

function chainOf({ memory, prompt = "Be brief." }: Setting, model: RunnableLike = claude()) {
  const template = ChatPromptTemplate.fromMessages([
    ["system", prompt],
    ["placeholder", "{history}"],
    ["human", "{input}"],
  ]);
  return withRedisMemory(template.pipe(model), { memory, inputMessagesKey: "input", historyMessagesKey: "history" });
}

type Ask = (setting: Setting, question: string) => Promise<unknown>;

const readToEnd = async (stream: Promise<AsyncIterable<unknown>>) => {
  await all(await stream);
};
const asked = (question: string) => ({ messages: [new HumanMessage(question)] });
const askAgent: Ask = (setting, question) => agentOf(setting).invoke(asked(question), ann);
const askChain: Ask = (setting, input) => chainOf(setting).invoke({ input }, ann);
/** Each door, with how many requests a turn takes there, and the sizes to which its reducers cut. */
const doors: readonly (readonly [string, ask: Ask, requests: number, sizes: [number, number]])[] = [
  ["an agent", askAgent, 2, [6, 200]],
  [
    "an agent in a stream",
    (setting, question) => readToEnd(agentOf(setting).stream(asked(question), { ...ann, streamMode: "messages" })),
    2,
    [6, 200],
  ],
  ["a chain", askChain, 1, [4, 120]],
  ["a chain in a stream", (setting, input) => readToEnd(chainOf(setting).stream({ input }, ann)), 1, [4, 120]],
];

const boundMemory = (reducer?: ChatHistoryReducer) => newMemory({ profile: "anthropic", ...(reducer && { reducer }) });

/** Thoughts in the newest request. */
function thoughtsSent(): number {
  const messages = listIn(server.requests.at(-1)!.body["messages"]);
  return messages.flatMap(({ content }) => listIn(content)).filter(({ type }) => type === "thinking").length;
}

/** The number of requests that do not go on from the request before them. */
function prefixBreaks(): number {
  const sent = server.requests.map(({ body }) => listIn(body["messages"]).map((message) => JSON.stringify(message)));
  return sent.slice(1).filter((list, index) => sent[index]!.some((message, at) => list[at] !== message)).length;
}

const causes = () => events.flatMap((event) => (event.type === "thinking_dropped" ? [event.cause] : []));
const violations = () => server.requests.flatMap((request) => request.violations);

describe.each(doors)("the requests of %s to a model that binds its thoughts", (_, ask, requests, sizes) => {
  it.each(Object.keys(reducers))("are all accepted with the reducer: %s", async (name) => {
    const memory = boundMemory(reducers[name]!(...sizes));
    for (let turn = 0; turn < 8; turn += 1) {
      await ask({ memory }, `Question ${turn}, ${"and more ".repeat(10)}?`);
    }
    expect(violations()).toEqual([]);
    expect(server.requests).toHaveLength(8 * requests);
    const isWhole = name === "none" || (name === "tool results" && requests === 1);
    expect(thoughtsSent() === 8 * requests - 1).toBe(isWhole);
    expect(prefixBreaks()).toBeLessThanOrEqual(events.filter(({ type }) => type === "reduced").length);
  });

  const fifthOf = async (memory: RedisChatMemory) => (await memory.history("ann").getMessages())[4]!.id!;
  const otherTool = { name: "other", description: "Another one.", parameters: { type: "object", properties: {} } };
  const changes: Record<string, (memory: RedisChatMemory) => Promise<Partial<Setting> | void>> = {
    "another system prompt": async () => ({ prompt: "Be kind." }),
    "other tools": async () => ({ tools: [lookup, { type: "function", function: otherTool }] }),
    "a rewind": async (memory) => memory.history("ann").rewind(await fifthOf(memory)),
    "an edited question": async (memory) => {
      await memory.history("ann").replaceFrom(await fifthOf(memory), [new HumanMessage("Another question?")]);
    },
  };

  it.each(Object.keys(changes))("are all accepted after %s", async (name) => {
    const memory = boundMemory();
    for (const turn of [1, 2, 3]) {
      await ask({ memory }, `Question ${turn}?`);
    }
    const changed = (await changes[name]!(memory)) ?? {};
    for (const turn of [4, 5]) {
      await ask({ memory, ...changed }, `Question ${turn}?`);
    }
    expect(violations()).toEqual([]);
    expect(server.requests).toHaveLength(5 * requests);
    expect(thoughtsSent()).toBeGreaterThan(0);
    expect(causes().length).toBeLessThanOrEqual(1);
  });
});

it("reports left out thoughts once per change, with the cause", async () => {
  const memory = boundMemory();
  await askAgent({ memory }, "Question 1?");
  await askAgent({ memory }, "Question 2?");
  expect(thoughtsSent()).toBe(3);
  for (const turn of [3, 4]) {
    await askAgent({ memory, prompt: "Be kind." }, `Question ${turn}?`);
  }
  const dropped = events.filter(({ type }) => type === "thinking_dropped");
  expect(dropped).toEqual([
    { type: "thinking_dropped", sessionId: "ann", cause: "system", firstAt: 1, sent: 0, dropped: 4 },
  ]);
  expect(thoughtsSent()).toBe(3);
  const stored = await memory.history("ann").getTranscript();
  const thoughts = stored
    .flatMap(({ content }: BaseMessage) => listIn(content))
    .filter(({ type }) => type === "thinking");
  expect(thoughts).toHaveLength(8);
});

it("keeps the thoughts of a run that waited for a person, and of a fork", async () => {
  const memory = boundMemory();
  const checkpointer = new MemorySaver();
  const agent = () => {
    const middleware = [
      redisMemoryMiddleware({ memory }),
      humanInTheLoopMiddleware({ interruptOn: { lookup: { allowedDecisions: ["approve"] } } }),
    ];
    return agentOf({ memory, more: { middleware, checkpointer } });
  };
  for (const turn of [1, 2]) {
    await agent().invoke({ messages: [new HumanMessage(`Question ${turn}?`)] }, ann);
    await agent().invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }), ann);
  }
  expect([server.requests.length, thoughtsSent()]).toEqual([4, 3]);
  await memory.history("ann").fork("bob");
  const bob = { configurable: { sessionId: "bob" } };
  await agentOf({ memory }).invoke({ messages: [new HumanMessage("Question 3?")] }, bob);
  expect([server.requests.length, thoughtsSent()]).toEqual([6, 5]);
  expect(violations()).toEqual([]);
  expect(fieldsIn(server.requests[0]!.body)["model"]).toBe("claude-opus-5-5");
});

describe("a chain's model that binds its thoughts", () => {
  const models: Record<string, () => RunnableLike> = {
    itself: claude,
    "wired by hand": () => wired(claude()),
    "with retries": () => claude().withRetry({ stopAfterAttempt: 2 }),
    "with fallbacks": () => claude().withFallbacks([claude()]),
    "with bound tools": () => claude().bindTools([{ name: "other", input_schema: { type: "object" } }]),
    "in a chain with a config": () => chat.pipe(claude()).withConfig({ tags: ["inner"] }),
  };
  const chat = new RunnablePassthrough<BasePromptValueInterface>();

  it.each(Object.keys(models))("gets its thoughts back: %s", async (name) => {
    const chain = chainOf({ memory: newMemory() }, models[name]!());
    for (const turn of [1, 2, 3]) {
      await chain.invoke({ input: `Question ${turn}?` }, ann);
    }
    expect(violations()).toEqual([]);
    expect(thoughtsSent()).toBe(2);
  });

  it("gets none of earlier turns where an agent in the chain hides its prompt, and the memory says so", async () => {
    const agent = createAgent({ model: claude(), tools: [], systemPrompt: "Be brief." });
    const chain = withRedisMemory(agent, { memory: newMemory() });
    for (const question of ["Question 1?", "Question 2?"]) {
      await chain.invoke(asked(question), ann);
    }
    expect(violations()).toEqual([]);
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
  expect(violations()).toEqual([]);
  expect(sent).toEqual([0, 1, 0, 1]);
  expect(events).toContainEqual(expect.objectContaining({ type: "thinking_dropped", cause: "system" }));
});
