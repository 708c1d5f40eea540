import { AIMessage, HumanMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableLambda, RunnablePassthrough, type RunnableConfig } from "@langchain/core/runnables";
import {
  ChatHistoryRoundReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryTruncationReducer,
  ChatMemoryModule,
  RedisChatMemory,
  withRedisMemory,
} from "../src/entries/index.js";
import { MessageHistory } from "../src/entries/openai.js";
import { conversationGuard } from "../src/entries/structure.js";
import type { MemorySettings } from "../src/session/memory-context.js";
import { InMemorySessionStore } from "../src/entries/store.js";
import { HistoryManager } from "../src/entries/tool-loop.js";
import type { TokenCounter } from "../src/tokens/token-counter.js";
import { ScriptedModel } from "./support/scripted-model.js";

/*
 * Programs as users of the other systems write them, one for each sentence of their documents that once did not hold.
 */
const memoryWith = (options: MemorySettings = {}) =>
  new RedisChatMemory({ store: new InMemorySessionStore(), ...options });
const kinds = (messages: readonly BaseMessage[]) => messages.map(({ type }) => type);
const session: RunnableConfig = { configurable: { sessionId: "s" } };
/** Counts a message as one token. */
const perMessage: TokenCounter = { id: "messages", perRequest: 0, countMessage: () => 1, countText: () => 1 };
const dialog: BaseMessage[] = [
  new HumanMessage("one"),
  new AIMessage("1"),
  new HumanMessage("two"),
  new AIMessage("2"),
  new HumanMessage("three"),
];

/** A model that notes what it is sent. */
function listening(answer = "fine") {
  const sent: BaseMessage[][] = [];
  const model = new ScriptedModel((messages) => {
    sent.push(messages);
    return answer;
  });
  return { model, sent };
}

describe("Semantic Kernel's chat history", () => {
  it("is a list under the hood: it is iterated over, and takes plain objects", async () => {
    const history = memoryWith().history("s");
    await history.addMessage({ role: "system", content: "You are a helpful assistant." });
    await history.addMessage({ role: "user", content: "What's available to order?" });
    const found: string[] = [];
    for await (const message of history) {
      found.push(message.type);
    }
    expect(found).toEqual(["system", "human"]);
  });

  it("begins with a system text, in process", () => {
    expect(new MessageHistory("You are a helpful assistant.").at(0)).toMatchObject({ role: "system" });
  });

  it("stays within its limits as a chain's, question included", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const { model, sent } = listening();
    const memory = memoryWith({ reducer });
    await memory.history("s").addSystemMessage("You are a librarian and expert on books about cities.");
    const chat = withRedisMemory(model, { memory });
    for (const question of ["Seattle?", "Dublin?", "Tokyo?", "Oslo?"]) {
      await chat.invoke(question, session);
    }
    expect(sent.map((messages) => kinds(messages))).toEqual(Array.from({ length: 4 }, () => ["system", "human"]));
    expect(sent.at(-1)!.at(-1)!.text).toBe("Oslo?");
  });

  it("counts tokens of what is sent, question included", async () => {
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 4, tokenCounter: perMessage });
    const { model, sent } = listening();
    const chat = withRedisMemory(model, { memory: memoryWith({ reducer }) });
    for (let at = 0; at < 8; at += 1) {
      await chat.invoke(`question ${at}`, session);
    }
    expect(Math.max(...sent.map((messages) => messages.length))).toBeLessThanOrEqual(4);
    expect(sent.at(-1)!.map(({ text }) => text)).toEqual(["question 6", "fine", "question 7"]);
  });
});

describe("AI Refinery's ChatMemoryModule", () => {
  it("is a trimmer in a pipe, by the names of the options of the document", async () => {
    const module = new ChatMemoryModule({ nRounds: 2, maxContext: 8_000, format: "messages" });
    const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("messages")]);
    const { model, sent } = listening();
    await prompt.pipe(module).pipe(model).invoke({ messages: dialog });
    expect(sent[0]!.map(({ text }) => text)).toEqual(["two", "2", "three"]);
  });

  it("is a step of a map that reads the session of the run", async () => {
    const memory = memoryWith();
    await memory.history("s").addMessages(dialog.slice(0, 4));
    const step = RunnablePassthrough.assign({ rounds: new ChatMemoryModule({ memory, nRounds: 1 }) });
    const seen = await step.invoke({ q: "three" }, { configurable: { thread_id: "s" } });
    expect(seen).toEqual({ q: "three", rounds: "user: two\nassistant: 2" });
  });

  it("never cuts the label of who speaks in half", async () => {
    for (let maxContext = 90; maxContext < 140; maxContext += 1) {
      const module = new ChatMemoryModule({ nRounds: 3, maxContext });
      const text = await module.invoke([new HumanMessage("x".repeat(60)), new AIMessage("You are welcome!".repeat(3))]);
      expect(String(text)).not.toMatch(/\. (?:ssistant|sistant|istant|stant|tant|ant|nt|t|ser|er|r): /);
    }
  });

  it("keeps the last rounds as a reducer, too", async () => {
    expect(kinds((await new ChatHistoryRoundReducer({ targetRounds: 1 }).reduce(dialog))!)).toEqual(["human"]);
  });
});

describe("MASEval's MessageHistory", () => {
  it("refuses a name by itself, and says how it is given", () => {
    expect(() => new MessageHistory().addMessage("user", "x", "Ann" as never)).toThrow("{ name }");
  });

  it("sends names that OpenAI takes", () => {
    const history = new MessageHistory();
    history.addMessage("user", "hi", { name: "Ema Vargova" });
    expect(history.toOpenAIFormat()).toEqual([{ role: "user", content: "hi", name: "Ema_Vargova" }]);
  });
});

describe("LangChain's rules of a conversation", () => {
  const broken = [
    new ToolMessage({ content: "a result without its call", tool_call_id: "lost" }),
    new AIMessage("an answer in front"),
    ...dialog,
  ];
  const summaries = new ScriptedModel(() => "They counted.");
  it.each([
    ["tokens", new ChatHistoryTokenReducer({ maxTokens: 10_000, tokenCounter: perMessage })],
    ["messages", new ChatHistoryTruncationReducer({ targetCount: 4 })],
    ["rounds", new ChatHistoryRoundReducer({ targetRounds: 2 })],
    ["a summary", new ChatHistorySummarizationReducer({ model: summaries, targetCount: 3 })],
    ["a ChatMemoryModule", new ChatMemoryModule({ nRounds: 9, format: "messages" })],
    ["a guard", conversationGuard({ leadingMessages: "drop" })],
  ])("hold behind a trimmer by %s, where the input breaks them", async (_, trimmer) => {
    const out = (await RunnableLambda.from(() => broken)
      .pipe(trimmer as RunnableLambda<BaseMessage[], BaseMessage[]>)
      .invoke([])) as BaseMessage[];
    const spoken = kinds(out).filter((kind) => kind !== "system");
    expect(spoken[0]).toBe("human");
    expect(spoken.at(-1)).toBe("human");
    expect(spoken).not.toContain("tool");
  });
});

describe("In place of RunnableWithMessageHistory", () => {
  it("a question that the provider refuses costs one error, and the next one is answered", async () => {
    const refused = Object.assign(new Error("content filter"), { status: 400 });
    const model = new ScriptedModel((messages) =>
      messages.some(({ text }) => text === "bad") ? refused : `${messages.length}`,
    );
    const chat = withRedisMemory(model, { memory: memoryWith() });
    await chat.invoke("hi, I am Ann", session);
    await expect(chat.invoke("bad", session)).rejects.toThrow("content filter");
    expect((await chat.invoke("who am I?", session)).text).toBe("3");
  });

  it("a retrieval chain stores its answer, not its whole output", async () => {
    const memory = memoryWith();
    const chain = RunnablePassthrough.assign({ context: () => "found" }).pipe(
      RunnablePassthrough.assign({ answer: () => "It is 9." }),
    );
    const chat = withRedisMemory(chain, { memory, inputMessagesKey: "question", historyMessagesKey: "history" });
    for (let at = 0; at < 5; at += 1) {
      await chat.invoke({ question: "when?" }, session);
    }
    const stored = await memory.history("s").getTranscript();
    expect(stored.map(({ text }) => text)).toEqual(
      Array.from({ length: 10 }, (_, at) => (at % 2 ? "It is 9." : "when?")),
    );
  });
});

describe("Unique's HistoryManager", () => {
  const asked = {
    originalUserMessage: "flights?",
    renderedUserMessage: "flights?",
    renderedSystemMessage: "Plan trips.",
  };
  const loop = () => {
    const memory = memoryWith();
    return { memory, manager: new HistoryManager({ history: memory.history("s"), maxInputTokens: 4_000 }) };
  };

  it("stores all that was found, cited or not, under its number", async () => {
    const { memory, manager } = loop();
    await manager.getHistoryForModelCall(asked);
    manager.addAssistantMessage(new AIMessage({ content: "", tool_calls: [{ id: "c", name: "search", args: {} }] }));
    const chunks = ["A", "B"].map((id) => ({ id, chunkId: "0", text: `flight ${id}` }));
    await manager.addToolCallResults([{ id: "c", name: "search", chunks }]);
    manager.addAssistantMessage(new AIMessage("Take A [source1]."));
    await manager.commit();
    const transcript = await memory.history("s").getTranscript();
    expect(transcript.map(({ text }) => text).join("\n")).toMatch(/flight A[\s\S]*flight B/);
    expect(manager.references.chunkOf(2)).toMatchObject({ id: "B" });
  });

  it("takes a result that was not successful, and refuses an answer without a question", async () => {
    const { manager } = loop();
    manager.addAssistantMessage(new AIMessage({ content: "", tool_calls: [{ id: "c", name: "search", args: {} }] }));
    await manager.addToolCallResults([{ id: "c", name: "search", successful: false, content: "no index" }]);
    await expect(manager.commit()).rejects.toMatchObject({ option: "originalUserMessage" });
    const { messages } = await manager.getHistoryForModelCall(asked);
    expect(messages.at(-1)!.text).toBe("Tool call search failed with error: no index");
  });
});
