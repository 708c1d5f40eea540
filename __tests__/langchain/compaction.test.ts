import { ChatAnthropic } from "@langchain/anthropic";
import type { AIMessage } from "@langchain/core/messages";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
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
import { compactionIn } from "../../src/conversation/messages/content.js";
import {
  answers,
  asked,
  before,
  block,
  type Body,
  caught,
  models,
  readable,
  run,
  sealed,
  sessionWith,
  system,
} from "../support/compactions.js";
import { CountingCounter } from "../support/counting-counter.js";
import { ai } from "../support/messages.js";

/** The answers in which the providers compact, as their adapters give them back. */
const shapes: Readonly<Record<string, { readonly answer: () => AIMessage; readonly provider: keyof typeof models }>> =
  Object.fromEntries([
    ...Object.entries(readable).map(([name, answer]) => [
      `${name} of Anthropic`,
      { answer, provider: "anthropic" as const },
    ]),
    ...Object.entries(sealed).map(([name, answer]) => [`${name} of OpenAI`, { answer, provider: "openai" as const }]),
  ]);

const ids = (messages: readonly BaseMessage[]) => messages.map(({ id }) => id);

describe.each(Object.keys(shapes))("%s", (name) => {
  const { answer, provider } = shapes[name]!;

  it("is the head of the view from its write on, and the transcript keeps all", async () => {
    const { history } = await sessionWith(answer());
    expect(ids(await history.getMessages())).toEqual(["s", "k"]);
    expect(await history.getTranscript()).toHaveLength(15);
    await history.addMessages([new HumanMessage({ content: "later", id: "later" })]);
    expect(ids(await history.getMessages())).toEqual(["s", "k", "later"]);
  });

  it("goes back first, once and byte for byte, with nothing in front that it stands for", async () => {
    const bodies: Body[] = [];
    const { memory } = await sessionWith(answer());
    const agent = createAgent({ model: models[provider](bodies), middleware: [redisMemoryMiddleware({ memory })] });
    await agent.invoke({ messages: [new HumanMessage("And now?")] }, run);
    const sent = JSON.stringify(bodies[0]);
    expect(sent).not.toContain("early");
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
    const { history } = await sessionWith(answer(), reducer);
    for (let turn = 0; turn < 8; turn += 1) {
      const words = `more words of turn ${turn}. `.repeat(3);
      await history.addMessages([new HumanMessage({ content: words, id: `u${turn}` }), ai(words, { id: `w${turn}` })]);
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
    const [human, answer] = [asked, readable["a block by itself"]()];
    await history.addMessages([human, answer]);
    expect(ids(await history.getMessages())).toEqual(["s", "k"]);
    const more = new HumanMessage({ content: "more ".repeat(40), id: "more" });
    await history.addMessages([more, ai("well", { id: "well" })]);
    const { start, records } = await store.readView({ id: "s" });
    expect([start, records.length]).toEqual([14, 3]);
    expect(ids(await history.getMessages())).toEqual(["s", "k", "more", "well"]);
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
