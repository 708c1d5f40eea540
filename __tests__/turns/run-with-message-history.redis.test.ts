import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { type Runnable, RunnableLambda, RunnableWithMessageHistory } from "@langchain/core/runnables";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { events, newMemory, texts } from "../support/memories.js";
import { ai, human } from "../support/messages.js";
import { echoModel, ScriptedModel } from "../support/scripted-model.js";
import { all } from "../support/all.js";

const config = { configurable: { sessionId: "s" } };

const keys = { inputMessagesKey: "input", historyMessagesKey: "history" };

const stored = async (memory: RedisChatMemory) => texts(await memory.history("s").getTranscript());

type GetMessageHistory = (sessionId: string) => RedisChatMessageHistory;

/** A runnable from messages to a message, with LangChain's own memory around it. */
function wrapped(runnable: unknown, getMessageHistory: GetMessageHistory): Runnable<BaseMessage[], AIMessage> {
  return new RunnableWithMessageHistory({ runnable: runnable as never, getMessageHistory }) as never;
}

/** The same with a prompt, a history key, and an input with a key. */
function withPrompt(model: ScriptedModel, getMessageHistory: GetMessageHistory): Runnable<object, AIMessage> {
  const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]]);
  return new RunnableWithMessageHistory({
    runnable: prompt.pipe(model as never) as never,
    getMessageHistory,
    ...keys,
  }) as never;
}

describe("RunnableWithMessageHistory on memory.getMessageHistory", () => {
  it("keeps a conversation over invoke and stream, with a history key or without", async () => {
    for (const hasKey of [true, false]) {
      const memory = newMemory();
      const wrap = hasKey ? withPrompt : wrapped;
      const chain = wrap(echoModel(), memory.getMessageHistory) as Runnable;
      const input = (text: string) => (hasKey ? { input: text } : [human(text)]);
      await chain.invoke(input("one"), config);
      await all(await chain.stream(input("two"), config));
      expect(await stored(memory)).toEqual(["one", "reply to one", "two", "reply to two"]);
    }
  });

  it("does not bring back what another history removed during the run", async () => {
    const memory = newMemory();
    await memory.history("s").addMessages([human("q0", "q0"), ai("a0", { id: "a0" })]);
    const model = new ScriptedModel(async () => {
      await memory.history("s").rewind("q0");
      return "a1";
    });
    await wrapped(model, memory.getMessageHistory).invoke([human("q1")], config);
    expect(await stored(memory)).toEqual(["q1", "a1"]);
  });

  it("stores a structured answer where the output names a text by its key", async () => {
    const memory = newMemory();
    const runnable = RunnableLambda.from(() => ({ output: '{"city":"Oslo"}' }));
    await wrapped(runnable, memory.getMessageHistory).invoke([human("where?")], config);
    expect(await stored(memory)).toEqual(["where?", '{"city":"Oslo"}']);
  });
});

describe("RunnableWithMessageHistory, other than withRedisMemory,", () => {
  it("stores nothing of a stream that is stopped, neither the question nor the part that was read", async () => {
    const memory = newMemory();
    const chain = withPrompt(new ScriptedModel(() => "one two three four"), memory.getMessageHistory);
    for await (const _ of await chain.stream({ input: "q1" }, config)) {
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await stored(memory)).toEqual([]);
  });

  it("stores nothing of a turn whose output is an object, and tells the caller nothing", async () => {
    const memory = newMemory();
    const silence = (["error", "warn"] as const).map((method) =>
      jest.spyOn(console, method).mockImplementation(() => undefined),
    );
    const runnable = RunnableLambda.from(() => ({ city: { name: "Oslo" } }));
    const output = await wrapped(runnable, memory.getMessageHistory).invoke([human("where?")], config);
    expect(output).toEqual({ city: { name: "Oslo" } });
    expect(await stored(memory)).toEqual([]);
    silence.forEach((spy) => spy.mockRestore());
  });
});

describe("a history of memory.getMessageHistory", () => {
  it.each<[string, (history: RedisChatMessageHistory) => Promise<unknown>, string[]]>([
    ["append", (history) => history.append([human("q2", "q2")]), ["q1", "a1", "q2"]],
    ["addMessages", (history) => history.addMessages([human("q2", "q2")]), ["q1", "a1", "q2"]],
    ["rewind", (history) => history.rewind("a1"), ["q1"]],
    ["reduceView", (history) => history.reduceView(), ["q1", "a1"]],
    ["rebuild", (history) => history.rebuild(), ["q1", "a1"]],
    ["clear", (history) => history.clear(), []],
  ])("shows at once what its own %s changed", async (_, change, expected) => {
    const memory = newMemory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 10 }) });
    const history = memory.getMessageHistory("s");
    await history.append([human("q1", "q1"), ai("a1", { id: "a1" })]);
    expect(texts(await history.getMessages())).toEqual(["q1", "a1"]);
    await change(history);
    expect(texts(await history.getMessages())).toEqual(expected);
  });

  it("shows a rewind of another history in the next run, and keeps what this run has read", async () => {
    const memory = newMemory();
    await memory.history("s").append([human("q1", "q1"), ai("a1", { id: "a1" })]);
    const running = memory.getMessageHistory("s");
    expect(await running.getMessages()).toHaveLength(2);
    await memory.history("s").rewind("a1");
    // RunnableWithMessageHistory would store "a1" again if its second read were shorter than its first.
    expect(await running.getMessages()).toHaveLength(2);
    expect(texts(await memory.getMessageHistory("s").getMessages())).toEqual(["q1"]);
  });

  it("reads what is stored where a change failed", async () => {
    const memory = newMemory();
    const history = memory.getMessageHistory("s");
    await history.append([human("q1", "q1")]);
    await history.getMessages();
    await memory.history("s").append([ai("a1")]);
    await expect(history.rewind("unknown")).rejects.toMatchObject({ code: "unknown_message" });
    expect(texts(await history.getMessages())).toEqual(["q1", "a1"]);
    expect(events.length).toBeGreaterThan(0);
  });
});
