import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import type { BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableLambda } from "@langchain/core/runnables";
import { inspect } from "node:util";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { echoModel } from "../support/scripted-model.js";
import { all } from "../support/all.js";

const session = { configurable: { sessionId: "ann" } };

function newMemory(options: MemorySettings & { readonly store?: SessionStore } = {}) {
  const events: MemoryEvent[] = [];
  const memory = new RedisChatMemory({
    store: new InMemorySessionStore(),
    onEvent: (event) => events.push(event),
    ...options,
  });
  const stored = async (sessionId = "ann") => (await memory.history(sessionId).getTranscript()).map(({ text }) => text);
  return { memory, events, stored };
}

function promptChain(model = echoModel()) {
  const prompt = ChatPromptTemplate.fromMessages([
    ["system", "Be kind."],
    new MessagesPlaceholder("history"),
    ["human", "{input}"],
  ]);
  return { model, chain: prompt.pipe(model) };
}

describe("withRedisMemory, storing and showing messages", () => {
  it.each([
    ["text", "one"],
    ["a message", human("one")],
    ["messages", [human("one")]],
    ["message-likes", [["human", "one"]] as [string, string][]],
    ["an object with one key", { question: "one" }],
    ["an object with the key `input`", { input: [human("one")], style: "short" }],
  ])("accepts %s as input without a key", async (_, input) => {
    const { memory, stored } = newMemory();
    const model = echoModel();
    await withRedisMemory(model, { memory }).invoke(input as never, session);
    await withRedisMemory(model, { memory }).invoke("two", session);
    expect(await stored()).toEqual(["one", "reply to one", "two", "reply to two"]);
    expect(model.sent[1]!.map(({ text }) => text)).toEqual(["one", "reply to one", "two"]);
  });

  it("passes history and input under the input key if only that is set", async () => {
    const { memory } = newMemory();
    const seen: unknown[] = [];
    const runnable = RunnableLambda.from((input: { messages: BaseMessage[]; style: string }) => {
      seen.push({ style: input.style, texts: input.messages.map(({ text }) => text) });
      return { answer: "ok", more: 1 };
    });
    const agent = withRedisMemory(runnable, { memory, inputMessagesKey: "messages", outputMessagesKey: "answer" });
    await agent.invoke({ messages: "one", style: "short" }, session);
    await agent.invoke({ messages: [human("two")], style: "long" }, session);
    expect(seen).toEqual([
      { style: "short", texts: ["one"] },
      { style: "long", texts: ["one", "ok", "two"] },
    ]);
  });

  it("stores only what is new even if the agent copied its input without ids", async () => {
    const { memory, stored } = newMemory();
    const copying = RunnableLambda.from((messages: BaseMessage[]) => [
      ...messages.map((message) => (message.getType() === "ai" ? ai(message.text) : human(message.text))),
      ai(`seen ${messages.length}`),
    ]);
    const agent = withRedisMemory(copying, { memory });
    await agent.invoke("one", session);
    await agent.invoke("two", session);
    expect(await stored()).toEqual(["one", "seen 1", "two", "seen 3"]);
  });

  it("leaves the caller's input as it was", async () => {
    const { memory } = newMemory();
    const input = { input: [human("one")] };
    const before = structuredClone(JSON.stringify(input));
    await withRedisMemory(echoModel(), { memory }).invoke(input, session);
    expect(JSON.stringify(input)).toBe(before);
    expect(input.input[0]!.id).toBeUndefined();
  });
});

describe("withRedisMemory, streaming", () => {
  it("passes on every chunk and stores the whole answer as one message", async () => {
    const { memory, stored } = newMemory();
    const chunks: string[] = [];
    for await (const chunk of await withRedisMemory(echoModel(), { memory }).stream("a b", session)) {
      chunks.push(chunk.text);
    }
    expect(chunks).toEqual(["reply ", "to ", "a ", "b"]);
    expect(await stored()).toEqual(["a b", "reply to a b"]);
    const [, answer] = await memory.history("ann").getMessages();
    expect(answer!.constructor.name).toBe("AIMessage");
  });

  it("emits the events of the model under its own run, and stores the turn", async () => {
    const { memory, stored } = newMemory();
    const events: string[] = [];
    for await (const event of withRedisMemory(echoModel(), { memory }).streamEvents("a b", {
      ...session,
      version: "v2",
    })) {
      events.push(`${event.event} ${event.name}`);
    }
    expect(events[0]).toBe("on_chain_start RunnableWithRedisMemory");
    expect(events).toContain("on_chat_model_stream ScriptedModel");
    expect(events.at(-1)).toBe("on_chain_end RunnableWithRedisMemory");
    expect(await stored()).toEqual(["a b", "reply to a b"]);
  });
});

describe("withRedisMemory, when something goes wrong", () => {
  it("rejects if the turn could not be stored", async () => {
    const store = new InMemorySessionStore();
    store.append = () => Promise.reject(new Error("no space"));
    const { memory } = newMemory({ store });
    const agent = withRedisMemory(echoModel(), { memory });
    await expect(agent.invoke("one", session)).rejects.toThrow("no space");
    await expect(collect(agent.stream("one", session))).rejects.toThrow("no space");
    await expect(agent.batch(["one"], session)).rejects.toThrow("no space");
  });

  it.each([
    [{ role: "weird", content: "SECRET" }],
    [["tool", "SECRET"]],
    [
      [
        { role: "user", content: "1" },
        { role: "tool", content: "SECRET" },
      ],
    ],
  ])(
    "refuses %j as input with a typed error that shows no text, and stores it as the words of the model",
    async (odd) => {
      const { memory, stored } = newMemory();
      const fromInput: unknown = await withRedisMemory(echoModel(), { memory })
        .invoke(odd as never, session)
        .catch((reason: unknown) => reason);
      expect(fromInput).toMatchObject({ name: "ConfigurationError", option: "inputMessagesKey" });
      expect(inspect(fromInput, { depth: 5 })).not.toContain("SECRET");
      expect(await withRedisMemory((() => odd) as never, { memory }).invoke("one", session)).toEqual(odd);
      expect(await stored()).toEqual(["one", JSON.stringify(odd)]);
    },
  );

  it("wraps a map of runnables, and refuses values that are not runnables", async () => {
    const { memory, stored } = newMemory();
    const answering = withRedisMemory({ answer: echoModel(), length: () => 3 } as never, {
      memory,
      outputMessagesKey: "answer",
    });
    expect(await answering.invoke("one", session)).toMatchObject({ length: 3 });
    expect(await stored()).toEqual(["one", "reply to one"]);
    for (const odd of [undefined, null, 7, "text", []]) {
      expect(() => withRedisMemory(odd as never, { memory })).toThrow(expect.objectContaining({ option: "runnable" }));
    }
  });

  it("refuses a prompt without the placeholder that historyMessagesKey names, at the first call", async () => {
    const { memory, stored } = newMemory();
    const keys = { inputMessagesKey: "input", historyMessagesKey: "history" } as const;
    const withPrompt = (messages: [string, string][]) =>
      withRedisMemory(ChatPromptTemplate.fromMessages(messages).pipe(echoModel()), { memory, ...keys });
    const other = withPrompt([
      ["placeholder", "{chat}"],
      ["human", "{input}"],
    ]);
    await expect(other.invoke({ input: "one" } as never, session)).rejects.toMatchObject({
      name: "ConfigurationError",
      option: "historyMessagesKey",
    });
    expect(await stored()).toEqual([]);
    const right = withPrompt([
      ["placeholder", "{history}"],
      ["human", "{input}"],
    ]);
    await right.invoke({ input: "one" } as never, session);
    expect(await stored()).toHaveLength(2);
  });

  it("refuses an output that holds the chain's own input or history, and reads `answer` like `output`", async () => {
    const { memory, stored } = newMemory();
    const keys = { inputMessagesKey: "input", historyMessagesKey: "history" } as const;
    const passing = (fields: object) =>
      withRedisMemory(RunnableLambda.from((input: object) => ({ ...input, ...fields })) as never, { memory, ...keys });
    await expect(passing({ found: "text" }).invoke({ input: "one" } as never, session)).rejects.toMatchObject({
      name: "ConfigurationError",
      option: "outputMessagesKey",
    });
    await passing({ answer: "fine" }).invoke({ input: "two" } as never, session);
    expect((await stored()).slice(-2)).toEqual(["two", "fine"]);
  });

  it("says which key to set if it finds no messages", async () => {
    const { memory } = newMemory();
    await expect(withRedisMemory(echoModel(), { memory }).invoke({ a: 1, b: 2 }, session)).rejects.toMatchObject({
      option: "inputMessagesKey",
    });
    const silent = withRedisMemory(
      RunnableLambda.from(() => ({ a: 1, b: 2 })),
      { memory, outputMessagesKey: "answer" },
    );
    await expect(silent.invoke("one", session)).rejects.toMatchObject({ option: "outputMessagesKey" });
  });
});

describe("withRedisMemory, sessions and turns", () => {
  it("takes its chain wherever a Runnable stands: with a config, with retries, in a batch, as a graph", async () => {
    const { memory } = newMemory();
    const { model, chain: prompted } = promptChain();
    const chain = withRedisMemory(prompted, { memory, inputMessagesKey: "input", historyMessagesKey: "history" });
    const bound = chain.withConfig({ configurable: { thread_id: "ann" } }).withRetry({ stopAfterAttempt: 2 });
    expect((await bound.invoke({ input: "one" })).text).toBe("reply to one");
    expect(await chain.batch([{ input: "two" }, { input: "three" }], session)).toHaveLength(2);
    expect(chain.getGraph().toJSON()).toHaveProperty("nodes");
    expect(model.sent.map(({ length }) => length)).toEqual([2, 4, 6]);
  });

  it("reduces the requests of a conversation, question included", async () => {
    const { memory, stored } = newMemory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }) });
    await memory.history("ann").addSystemMessage("You are a librarian.");
    const model = echoModel();
    const cities = ["Seattle", "Dublin", "Amsterdam", "Paris", "London"];
    for (const city of cities) {
      await withRedisMemory(model, { memory }).invoke(city, session);
    }
    expect(model.sent.map((messages) => messages.map(({ type }) => type))).toEqual(
      cities.map(() => ["system", "human"]),
    );
    expect(await stored()).toHaveLength(11);
  });

  it("stores each turn of a batch on one session once and whole", async () => {
    const { memory, stored } = newMemory();
    await withRedisMemory(echoModel(), { memory }).batch(["one", "two"], session);
    const texts = await stored();
    expect(texts).toHaveLength(4);
    for (const input of ["one", "two"]) {
      expect(texts[texts.indexOf(input) + 1]).toBe(`reply to ${input}`);
    }
  });

  it("finds the session by the option, as text or as a function of the config", async () => {
    const { memory, stored } = newMemory();
    await withRedisMemory(echoModel(), { memory, sessionId: "fixed" }).invoke("one");
    const byUser = withRedisMemory(echoModel(), {
      memory,
      sessionId: ({ configurable }) => configurable?.["user"] as string,
    });
    await byUser.invoke("two", { configurable: { user: "carl" } });
    expect(await stored("fixed")).toEqual(["one", "reply to one"]);
    expect(await stored("carl")).toEqual(["two", "reply to two"]);
  });

  it("repairs an interrupted tool call for the model, and does not change the stored messages", async () => {
    const { memory, events } = newMemory();
    await memory.history("ann").addMessages([human("go"), aiCalls("c1")]);
    const model = echoModel();
    await withRedisMemory(model, { memory }).invoke("still there?", session);
    expect(model.sent[0]!.map((message) => message.getType())).toEqual(["human", "ai", "tool", "human"]);
    expect(events).toContainEqual(expect.objectContaining({ type: "repaired", sessionId: "ann", rules: ["S08"] }));
    const transcript = await memory.history("ann").getTranscript();
    expect(transcript.map((message) => message.getType())).toEqual(["human", "ai", "human", "ai"]);
  });

  it("accepts the result of an open call in the user's turn", async () => {
    const { memory } = newMemory();
    await memory.history("ann").addMessages([human("go"), aiCalls("c1")]);
    const model = echoModel();
    await withRedisMemory(model, { memory }).invoke([tool("c1", "42")], session);
    expect(model.sent[0]!.map((message) => message.getType())).toEqual(["human", "ai", "tool"]);
    expect(model.sent[0]![2]!.text).toBe("42");
  });
});

async function collect(stream: Promise<AsyncIterable<unknown>>): Promise<void> {
  await all(await stream);
}
