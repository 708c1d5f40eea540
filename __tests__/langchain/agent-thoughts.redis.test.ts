import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
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
} from "../../src/entries/index.js";
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.js";
import { fieldsIn, listIn } from "../../testing/wire/json.js";
import { lookup } from "../support/agents.js";
import { closeMemories, events, newMemory } from "../support/memories.js";

let server: ProviderServer;

afterEach(async () => {
  await closeMemories();
  await server.close();
});

const tokenCounter = approximateCounter();
const reducers: Record<string, () => ChatHistoryReducer | undefined> = {
  none: () => undefined,
  truncation: () => new ChatHistoryTruncationReducer({ targetCount: 6 }),
  "truncation with a threshold": () => new ChatHistoryTruncationReducer({ targetCount: 6, thresholdCount: 6 }),
  tokens: () => new ChatHistoryTokenReducer({ maxTokens: 200, tokenCounter }),
  "tool results": () => new ChatHistoryToolResultReducer({ keepLast: 1, maxCharacters: 3 }),
  summary: () =>
    new ChatHistorySummarizationReducer({
      model: new FakeListChatModel({ responses: ["A summary."] }),
      targetCount: 6,
      tokenCounter,
    }),
};

/** Claude thinks, calls a tool, thinks again and answers. */
function reply(body: Readonly<Record<string, unknown>>) {
  const last = listIn(body["messages"]).at(-1)!;
  const isResult = listIn(last["content"]).some(({ type }) => type === "tool_result");
  const call = {
    thinking: "I should look.",
    content: "I look.",
    toolCalls: [{ name: "lookup", arguments: { query: "x" } }],
  };
  return isResult ? { thinking: "So it is.", content: "It is so." } : call;
}

const ann = { configurable: { sessionId: "ann", thread_id: "ann" } };

interface Agent {
  readonly memory: RedisChatMemory;
  readonly prompt?: string;
  readonly tools?: readonly unknown[];
  readonly more?: object;
}

function agentOf({ memory, prompt = "Be brief.", tools = [lookup], more = {} }: Agent) {
  const model = new ChatAnthropic({
    model: "claude-opus-5-5",
    apiKey: "none",
    anthropicApiUrl: server.url,
    maxRetries: 0,
  });
  const middleware = [redisMemoryMiddleware({ memory })];
  return createAgent({ model, tools: [...tools] as never, systemPrompt: prompt, middleware, ...more });
}

type Door = "invoke" | "stream";

async function ask(agent: ReturnType<typeof agentOf>, door: Door, question: string, id?: string): Promise<void> {
  const input = { messages: [new HumanMessage({ content: question, ...(id && { id }) })] };
  if (door === "invoke") {
    await agent.invoke(input, ann);
    return;
  }
  for await (const _ of await agent.stream(input, { ...ann, streamMode: "messages" })) {
    // Read to its end.
  }
}

const newAgentMemory = (reducer?: ChatHistoryReducer) =>
  newMemory({ profile: "anthropic", ...(reducer && { reducer }) });

const start = async () => (server = await startProviderServer({ kind: "anthropic", reply }));

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

describe.each<Door>(["invoke", "stream"])("an agent's requests to a model that binds its thoughts (%s)", (door) => {
  it.each(Object.keys(reducers))("are all accepted with the reducer: %s", async (name) => {
    await start();
    const agent = agentOf({ memory: newAgentMemory(reducers[name]!()) });
    for (let turn = 0; turn < 8; turn += 1) {
      await ask(agent, door, `Question ${turn}, ${"and more ".repeat(10)}?`);
    }
    expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
    expect(server.requests).toHaveLength(16);
    expect(thoughtsSent() === 15).toBe(name === "none");
    expect(prefixBreaks()).toBeLessThanOrEqual(events.filter(({ type }) => type === "reduced").length);
  });

  const changes: Record<string, (memory: RedisChatMemory) => Promise<Partial<Agent> | void>> = {
    "another system prompt": async () => ({ prompt: "Be kind." }),
    "other tools": async () => ({ tools: [lookup, { ...openAITool("other") }] }),
    "a rewind": async (memory) => {
      const history = memory.history("ann");
      const [, , , , question] = await history.getMessages();
      await history.rewind(question!.id!);
    },
    "an edited question": async (memory) => {
      const history = memory.history("ann");
      const [, , , , question] = await history.getMessages();
      await history.replaceFrom(question!.id!, [new HumanMessage("Another question?")]);
    },
  };

  it.each(Object.keys(changes))("are all accepted after %s", async (name) => {
    await start();
    const memory = newAgentMemory();
    for (const turn of [1, 2, 3]) {
      await ask(agentOf({ memory }), door, `Question ${turn}?`);
    }
    const changed = (await changes[name]!(memory)) ?? {};
    for (const turn of [4, 5]) {
      await ask(agentOf({ memory, ...changed }), door, `Question ${turn}?`);
    }
    expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
    expect(server.requests).toHaveLength(10);
    expect(causes().length).toBeLessThanOrEqual(1);
  });
});

function openAITool(name: string): object {
  const parameters = { type: "object", properties: {} };
  return { type: "function", function: { name, description: "Another one.", parameters } };
}

it("reports left out thoughts once per change, with the cause", async () => {
  await start();
  const memory = newAgentMemory();
  await ask(agentOf({ memory }), "invoke", "Question 1?");
  await ask(agentOf({ memory }), "invoke", "Question 2?");
  expect(thoughtsSent()).toBe(3);
  for (const turn of [3, 4]) {
    await ask(agentOf({ memory, prompt: "Be kind." }), "invoke", `Question ${turn}?`);
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
  await start();
  const memory = newAgentMemory();
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
  expect(server.requests.flatMap(({ violations }) => violations)).toEqual([]);
  expect(fieldsIn(server.requests[0]!.body)["model"]).toBe("claude-opus-5-5");
});
