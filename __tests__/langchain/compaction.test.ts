import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import {
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  ChatHistoryTruncationReducer,
  contextWindow,
  InMemorySessionStore,
  RedisChatMemory,
  type ReducerLike,
} from "../../src/entries/index.js";
import { compactionIn } from "../../src/conversation/messages/calls.js";
import { usageOf } from "../../src/memory/session/encode-records.js";
import { CountingCounter } from "../support/counting-counter.js";

type Fields = Record<string, unknown>;
interface Body extends Fields {
  readonly messages?: readonly (Fields & { readonly content: unknown })[];
  readonly input?: readonly Fields[];
}

const block = { type: "compaction", content: "They talked about Oslo." };
const signed = { ...block, signature: "c2lnbmVk+/=" };
const item = { type: "compaction", id: "cmp_1", encrypted_content: "gAAAA-sealed==" };
const said = { type: "message", id: "msg_1", role: "assistant", status: "completed" };
const text = { type: "output_text", text: "At noon.", annotations: [] };
const fromAnthropic = { model_provider: "anthropic" };

/** The answers in which the providers compact, as their adapters give them back. */
const shapes: Readonly<Record<string, { readonly answer: () => AIMessage; readonly provider: keyof typeof models }>> = {
  "a block of Anthropic at a threshold": {
    provider: "anthropic",
    answer: () =>
      new AIMessage({
        id: "k",
        content: [block, { type: "text", text: "At noon." }] as never,
        response_metadata: fromAnthropic,
      }),
  },
  "a signed block of Anthropic on demand": {
    provider: "anthropic",
    answer: () => new AIMessage({ id: "k", content: [signed] as never, response_metadata: fromAnthropic }),
  },
  "an item of OpenAI beside an answer": {
    provider: "openai",
    answer: () =>
      new AIMessage({
        id: "k",
        content: [{ type: "text", text: "At noon." }],
        response_metadata: { model_provider: "openai", output: [item, { ...said, content: [text] }] },
      }),
  },
  "an item of OpenAI by itself": {
    provider: "openai",
    answer: () =>
      new AIMessage({ id: "k", content: "", response_metadata: { model_provider: "openai", output: [item] } }),
  },
};

const answers = {
  anthropic: {
    id: "r",
    type: "message",
    role: "assistant",
    model: "m",
    stop_reason: "end_turn",
    usage: { input_tokens: 9, output_tokens: 9 },
    content: [{ type: "text", text: "Well." }],
  },
  openai: {
    id: "r",
    object: "response",
    model: "m",
    status: "completed",
    usage: { input_tokens: 9, output_tokens: 9, total_tokens: 18 },
    output: [{ ...said, id: "msg_2", content: [{ ...text, text: "Well." }] }],
  },
};

function caught(bodies: Body[], reply: object): typeof globalThis.fetch {
  return (_, init) => {
    bodies.push(JSON.parse(init!.body as string) as Body);
    const body = JSON.stringify({ ...reply, id: `r${bodies.length}` });
    return Promise.resolve(new Response(body, { headers: { "content-type": "application/json" } }));
  };
}

const models = {
  anthropic: (bodies: Body[]) => {
    const clientOptions = { fetch: caught(bodies, answers.anthropic) };
    return new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "k", maxRetries: 0, clientOptions });
  },
  openai: (bodies: Body[]) => {
    const configuration = { fetch: caught(bodies, answers.openai) };
    return new ChatOpenAI({ model: "gpt-5", apiKey: "k", maxRetries: 0, useResponsesApi: true, configuration });
  },
};

const before = Array.from({ length: 6 }, (_, index) => [
  new HumanMessage({ content: `gone question ${index}`, id: `q${index}` }),
  new AIMessage({ content: `gone answer ${index}`, id: `a${index}` }),
]).flat();
const system = new SystemMessage({ content: "Be brief.", id: "s" });
const asked = new HumanMessage({ content: "gone too", id: "asked" });

async function historyWith(answer: AIMessage, reducer?: ReducerLike) {
  const memory = new RedisChatMemory({ store: new InMemorySessionStore(), ...(reducer && { reducer }) });
  const history = memory.history("s");
  await history.addMessages([system, ...before]);
  await history.addMessages([asked, answer]);
  return { memory, history };
}

const run = { configurable: { sessionId: "s" } };
const ids = (messages: readonly BaseMessage[]) => messages.map(({ id }) => id);

describe.each(Object.keys(shapes))("%s", (name) => {
  const { answer, provider } = shapes[name]!;

  it("is the head of the view from its write on, and the transcript keeps all", async () => {
    const { history } = await historyWith(answer());
    expect(ids(await history.getMessages())).toEqual(["s", "k"]);
    expect(await history.getTranscript()).toHaveLength(15);
    await history.addMessages([new HumanMessage({ content: "later", id: "later" })]);
    expect(ids(await history.getMessages())).toEqual(["s", "k", "later"]);
  });

  it("goes back first, once and byte for byte, with nothing in front that it stands for", async () => {
    const bodies: Body[] = [];
    const { memory } = await historyWith(answer());
    const agent = createAgent({ model: models[provider](bodies), middleware: [redisMemoryMiddleware({ memory })] });
    await agent.invoke({ messages: [new HumanMessage("And now?")] }, run);
    const sent = JSON.stringify(bodies[0]);
    expect(sent).not.toContain("gone");
    expect(sent.split('"compaction"')).toHaveLength(2);
    const own = compactionIn(answer());
    if (provider === "anthropic") {
      const [first, ...rest] = bodies[0]!.messages!;
      expect(first).toMatchObject({ role: "assistant" });
      expect((first!.content as unknown[])[0]).toEqual(own);
      expect(rest).toHaveLength(1);
    } else {
      expect(bodies[0]!.input!.find(({ role }) => role !== "system" && role !== "developer")).toEqual(own);
    }
  });

  it.each<[string, ReducerLike]>([
    ["by count", new ChatHistoryTruncationReducer({ targetCount: 3 })],
    ["by tokens", new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter: new CountingCounter() })],
    ["of tool results", new ChatHistoryToolResultReducer({ keepLast: 0 })],
    ["that fits the window", contextWindow({ maxInputTokens: 110, tokenCounter: new CountingCounter() })],
    [
      "that summarizes",
      new ChatHistorySummarizationReducer({
        model: { invoke: () => Promise.resolve("S.") },
        targetCount: 3,
        thresholdCount: 0,
      }),
    ],
  ])("stays in front with a reducer %s", async (_, reducer) => {
    const { history } = await historyWith(answer(), reducer);
    for (let turn = 0; turn < 8; turn += 1) {
      const words = `more words of turn ${turn}. `.repeat(3);
      await history.addMessages([
        new HumanMessage({ content: words, id: `u${turn}` }),
        new AIMessage({ content: words, id: `w${turn}` }),
      ]);
    }
    const view = await history.getMessages();
    expect(ids(view).slice(0, 2)).toEqual(["s", "k"]);
    expect(compactionIn(view[1]!)).toEqual(compactionIn(answer()));
    expect(view.at(-1)!.id).toBe("w7");
    expect(await history.getTranscript()).toHaveLength(31);
  });
});

describe("records that a compaction stands for", () => {
  it("leave the stored view with a write above the reducer's limit, though it has nothing to cut", async () => {
    const store = new InMemorySessionStore();
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 130, tokenCounter: new CountingCounter() });
    const history = new RedisChatMemory({ store, reducer }).history("s");
    await history.addMessages([system, ...before]);
    const [human, answer] = [asked, shapes["a signed block of Anthropic on demand"]!.answer()];
    await history.addMessages([human, answer]);
    expect(ids(await history.getMessages())).toEqual(["s", "k"]);
    const more = new HumanMessage({ content: "more ".repeat(40), id: "more" });
    await history.addMessages([more, new AIMessage({ content: "well", id: "well" })]);
    const { start, records } = await store.readView({ id: "s" });
    expect([start, records.length]).toEqual([14, 3]);
    expect(ids(await history.getMessages())).toEqual(["s", "k", "more", "well"]);
  });
});

describe("usage of an answer that compacted", () => {
  it("holds what the compaction was billed", async () => {
    const answer = new AIMessage({
      content: [signed] as never,
      usage_metadata: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      response_metadata: {
        ...fromAnthropic,
        model: "claude",
        usage: { iterations: [{ type: "compaction", input_tokens: 1_000, output_tokens: 50 }] },
      },
    });
    expect(usageOf(answer)).toEqual({ model: "claude", input: 1_000, output: 50, total: 1_050 });
  });
});

describe("an agent whose model compacts while it answers", () => {
  it("repeats the stored answer, and asks the next question behind the block", async () => {
    const bodies: Body[] = [];
    const reply = { ...answers.anthropic, content: [block, { type: "text", text: "At noon." }] };
    const clientOptions = { fetch: caught(bodies, reply) };
    const model = new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "k", maxRetries: 0, clientOptions });
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    await memory.history("s").addMessages(before);
    const agent = createAgent({ model, middleware: [redisMemoryMiddleware({ memory })] });
    const ask = async (id: string) => {
      const { messages } = await agent.invoke({ messages: [new HumanMessage({ content: `question ${id}`, id })] }, run);
      return messages.at(-1)!.text;
    };
    expect([await ask("one"), await ask("one"), await ask("two")]).toEqual(["At noon.", "At noon.", "At noon."]);
    expect(bodies.map(({ messages }) => messages!.length)).toEqual([13, 2]);
    expect(bodies[1]!.messages![0]!.content).toEqual(reply.content);
    expect(await memory.history("s").getTranscript()).toHaveLength(16);
  });
});
