import { BaseListChatMessageHistory, type BaseChatMessageHistory } from "@langchain/core/chat_history";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
} from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnablePassthrough, RunnableWithMessageHistory } from "@langchain/core/runnables";
import { ChatHistoryTruncationReducer, contextWindow, withRedisMemory } from "../../src/entries/index.js";
import { answering, inSession, memoryWith, textsOf } from "../support/user-programs.js";

/*
 * Programs as users of LangChain write them, for each rule of its page on chat history and each place of its Runnables.
 */
const dialog: BaseMessage[] = [
  new HumanMessage("one"),
  new AIMessage("1"),
  new HumanMessage("two"),
  new AIMessage("2"),
  new HumanMessage("three"),
];
const prompt = ChatPromptTemplate.fromMessages([
  ["system", "Be brief."],
  new MessagesPlaceholder("history"),
  ["human", "{input}"],
]);
const keys = { inputMessagesKey: "input", historyMessagesKey: "history" };

describe("LangChain's Runnables", () => {
  it("take a history where they take BaseChatMessageHistory, by RunnableWithMessageHistory as well", async () => {
    const memory = memoryWith();
    const history: BaseChatMessageHistory = memory.history("s");
    expect(history).toBeInstanceOf(BaseListChatMessageHistory);
    const model = answering();
    const chat = new RunnableWithMessageHistory({
      runnable: prompt.pipe(model),
      getMessageHistory: memory.getMessageHistory,
      ...keys,
    });
    await chat.invoke({ input: "one" }, inSession);
    await chat.batch([{ input: "two" }], inSession as never);
    for await (const chunk of await chat.stream({ input: "three" }, inSession)) {
      expect(chunk.text).toBe("fine");
    }
    expect(textsOf(await history.getMessages())).toEqual(["one", "fine", "two", "fine", "three", "fine"]);
  });

  it("take the chain with a memory wherever a Runnable stands", async () => {
    const model = answering();
    const chat = withRedisMemory(prompt.pipe(model), { memory: memoryWith(), ...keys });
    const bound = chat.withConfig(inSession).withRetry({ stopAfterAttempt: 2 });
    expect((await bound.invoke({ input: "one" })).text).toBe("fine");
    expect(await chat.batch([{ input: "two" }, { input: "three" }], inSession)).toHaveLength(2);
    const events: string[] = [];
    for await (const { event } of chat.streamEvents({ input: "four" }, { version: "v2", ...inSession })) {
      events.push(event);
    }
    expect(events).toContain("on_chat_model_stream");
    expect(chat.getGraph().toJSON()).toHaveProperty("nodes");
    expect(model.sent.map(({ length }) => length)).toEqual([2, 4, 6, 8]);
  });

  it("name the remedy where the session's id is missing, empty or in another case", async () => {
    const chat = withRedisMemory(answering(), { memory: memoryWith() });
    for (const configurable of [{}, { sessionId: "" }, { session_id: "s" }]) {
      await expect(chat.invoke("hi", { configurable })).rejects.toThrow("sessionId");
    }
  });

  it("compose trimmers: in a pipe, a sequence, a batch, a stream, on a prompt, tuples and { messages }", async () => {
    const model = answering();
    const trimmer = new ChatHistoryTruncationReducer({ targetCount: 3 });
    const chain = prompt.pipe(trimmer).pipe(model);
    await chain.invoke({ input: "four", history: dialog.slice(0, 4) });
    expect(textsOf(model.sent[0]!)).toEqual(["Be brief.", "two", "2", "four"]);
    expect(textsOf(await trimmer.invoke({ messages: dialog }))).toEqual(["two", "2", "three"]);
    const tuples: [string, string][] = dialog.map(({ type, text }) => [type, text]);
    expect((await trimmer.batch([tuples, tuples])).map((out) => textsOf(out))).toEqual([
      ["two", "2", "three"],
      ["two", "2", "three"],
    ]);
    const parts: BaseMessage[][] = [];
    for await (const part of await trimmer.withConfig({ tags: ["t"] }).stream(dialog)) {
      parts.push(part);
    }
    expect(parts.map((part) => textsOf(part))).toEqual([["two", "2", "three"]]);
  });

  it("take trimMessages as the memory's reducer", async () => {
    const reducer = trimMessages({ maxTokens: 3, tokenCounter: ({ length }) => length, startOn: "human" });
    const history = memoryWith({ reducer }).history("s");
    await history.addMessages(dialog);
    expect(textsOf(await history.getMessages())).toEqual(["two", "2", "three"]);
  });
});

describe("In place of RunnableWithMessageHistory", () => {
  it("a retrieval chain stores its answer, not its whole output", async () => {
    const memory = memoryWith();
    const chain = RunnablePassthrough.assign({ context: () => "found" }).pipe(
      RunnablePassthrough.assign({ answer: () => "It is 9." }),
    );
    const chat = withRedisMemory(chain, { memory, inputMessagesKey: "question", historyMessagesKey: "history" });
    for (let at = 0; at < 5; at += 1) {
      await chat.invoke({ question: "when?" }, inSession);
    }
    const stored = await memory.history("s").getTranscript();
    expect(textsOf(stored)).toEqual(Array.from({ length: 10 }, (_, at) => (at % 2 ? "It is 9." : "when?")));
  });

  it("the request fits the limits that are given, question included", async () => {
    const model = answering();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 2 });
    const chat = withRedisMemory(prompt.pipe(model), { memory: memoryWith({ reducer }), ...keys });
    for (let at = 0; at < 12; at += 1) {
      await chat.invoke({ input: `question ${at}` }, inSession);
    }
    const counts = model.sent.map((sent) => sent.filter((message) => !SystemMessage.isInstance(message)).length);
    expect(Math.max(...counts)).toBeLessThanOrEqual(6);
  });

  it("a window keeps the conversation where a finished turn's tool returned much", async () => {
    const facts = Array.from({ length: 20 }, (_, at) => [
      new HumanMessage(`fact ${at}`),
      new AIMessage("noted"),
    ]).flat();
    const turn = [
      new HumanMessage("look it up"),
      new AIMessage({ content: "", tool_calls: [{ id: "1", name: "f", args: {} }] }),
      new ToolMessage({ content: "long ".repeat(3_000), tool_call_id: "1" }),
      new AIMessage("found"),
    ];
    const window = contextWindow({ maxInputTokens: 3_000 });
    const out = await window.invoke([...facts, ...turn, new HumanMessage("which facts?")]);
    expect(out).toHaveLength(facts.length + turn.length + 1);
    expect(out.find(({ type }) => type === "tool")!.text.length).toBeLessThan(15_000);
  });
});
