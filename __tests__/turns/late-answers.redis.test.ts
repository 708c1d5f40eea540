import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import type { BaseMessage } from "@langchain/core/messages";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { ChatMemoryModule } from "../../src/memory/histories/chat-memory-module.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { writeTurn } from "../../src/memory/session/append-input.js";
import { newMemory, texts } from "../support/memories.js";
import { ai, human } from "../support/messages.js";
import { ScriptedModel } from "../support/scripted-model.js";

/** A run of the first question was killed, and tried again when two later turns were stored. */
async function retriedLate(): Promise<RedisChatMessageHistory> {
  const history = newMemory().history("s");
  const write = (turnId: string, messages: BaseMessage[], done: boolean, stored = 0) =>
    writeTurn(history, messages, { turnId, turn: { done, stored } });
  await write("job-1", [human("K1", "k1")], false);
  await write("job-2", [human("K2", "k2")], false);
  await write("job-2", [ai("answer K2", { id: "a2" })], true, 1);
  await write("job-3", [human("K3", "k3"), ai("answer K3", { id: "a3" })], true);
  await write("job-1", [ai("answer K1", { id: "a1" })], true, 1);
  return history;
}

const log = ["K1", "K2", "answer K2", "K3", "answer K3", "answer K1"];
const conversation = ["K1", "answer K1", "K2", "answer K2", "K3", "answer K3"];

describe("an answer that was stored behind later turns", () => {
  it("stands with its question in the view and on pages; the transcript keeps the log's order", async () => {
    const history = await retriedLate();
    expect(texts(await history.getTranscript())).toEqual(log);
    expect(texts(await history.getMessages())).toEqual(conversation);
    const { items } = await history.getPage();
    expect(items.map(({ message, position }) => [message.text, position])).toEqual(
      conversation.map((text) => [text, log.indexOf(text)]),
    );
    const names = items.map(({ turn }) => turn);
    expect(names.map((name) => names.indexOf(name))).toEqual([0, 0, 2, 2, 4, 4]);
    const inLog = await history.getPage({ order: "log" });
    expect(inLog.items.map(({ message, position }) => [message.text, position])).toEqual(
      Object.entries(log).map(([position, text]) => [text, Number(position)]),
    );
  });

  it("has the turn of its question on another page", async () => {
    const history = await retriedLate();
    const newest = await history.getPage({ limit: 2 });
    expect(newest.items.map(({ message }) => message.text)).toEqual(["answer K3", "answer K1"]);
    const older = await history.getPage({ before: newest.previous, limit: 4 });
    expect(older.items.find(({ message }) => message.text === "K1")?.turn).toBe(newest.items[1]?.turn);
  });

  it("belongs to the round of its question", async () => {
    const history = await retriedLate();
    for (const count of [1, 2, 3, 9]) {
      const rounds = await history.getRounds(count);
      expect(rounds.flatMap(({ messages }) => texts(messages))).toEqual(conversation.slice(-2 * count));
      expect(rounds.map(({ index }) => index)).toEqual([1, 2, 3].slice(-count));
    }
    const recalled = await new ChatMemoryModule({ history, nRounds: 1 }).retrieve();
    expect(recalled).toBe("user: K3\nassistant: answer K3");
  });
});

describe("the last round", () => {
  it("keeps what a turn without a question stored in it", async () => {
    const history = newMemory().history("s");
    await history.addMessages([human("q1"), ai("a1"), human("q2")]);
    await history.append([ai("a note")], { turnId: "note" });
    await history.addMessages([ai("a2")]);
    expect((await history.getRounds(1)).map(({ messages }) => texts(messages))).toEqual([["q2", "a note", "a2"]]);
  });

  it("does not hold the late answer to a question from many rounds before", async () => {
    const history = newMemory().history("s");
    await writeTurn(history, [human("first")], { turnId: "first", turn: { done: false } });
    const later = Array.from({ length: 60 }, (_, index) => [human(`q${index}`), ai(`a${index}`)]);
    await history.addMessages(later.flat());
    await writeTurn(history, [ai("late")], { turnId: "first", turn: { stored: 1 } });
    expect((await history.getRounds(1)).map(({ messages }) => texts(messages))).toEqual([["q59", "a59"]]);
  });
});

describe("an answer whose question a reduction kept as a copy", () => {
  it.each(["keep", "discard"] as const)("stands with it, with retention %s", async (retention) => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 1 });
    const history = newMemory({ reducer, reduceWhen: "never", retention }).history("s");
    const write = (turnId: string, messages: BaseMessage[], done: boolean, stored = 0) =>
      writeTurn(history, messages, { turnId, turn: { done, stored } });
    await write("job-1", [human("K1", "k1")], false);
    await write("job-2", [human("K2", "k2")], false);
    // It stands behind K2, so K2 is in the view only as a copy in front of the start.
    await write("job-1", [ai("answer K1", { id: "a1" })], true, 1);
    expect(texts((await history.reduceView()).messages)).toEqual(["K2"]);
    await write("job-3", [human("K3", "k3"), ai("answer K3", { id: "a3" })], true);
    await write("job-2", [ai("answer K2", { id: "a2" })], true, 1);
    const expected = ["K2", "answer K2", "K3", "answer K3"];
    expect(texts(await history.getMessages())).toEqual(expected);
    const { messages } = await history.reduceView();
    expect(expected.slice(-texts(messages).length)).toEqual(texts(messages));
    expect(texts(await history.getMessages())).toEqual(texts(messages));
  });
});

describe("clients that send their whole history without ids", () => {
  it("ask two questions at once, and again: each is stored once, and the history is not stored again", async () => {
    const memory = newMemory();
    const chat = withRedisMemory(new ScriptedModel((messages) => `answer ${messages.at(-1)!.text}`), { memory });
    const ask = async (question: string, turnId: string) => {
      const input = [human("h"), ai("answer h"), human(question)];
      return (await chat.invoke(input, { configurable: { sessionId: "s", turnId } })).text;
    };
    await chat.invoke("h", { configurable: { sessionId: "s" } });
    for (let time = 0; time < 2; time += 1) {
      expect(await Promise.all([ask("A", "t1"), ask("B", "t2")])).toEqual(["answer A", "answer B"]);
    }
    const stored = texts(await memory.history("s").getTranscript());
    expect([...stored].sort()).toEqual(["A", "B", "answer A", "answer B", "answer h", "h"]);
  });

  it.each([
    ["find the question that stands last, and is not answered", [], ["h", "answer h", "A", "answer A"]],
    ["ask it anew where others have asked since", ["B"], ["h", "answer h", "A", "B", "answer B", "A", "answer A"]],
  ])("%s", async (_, since, stored) => {
    const memory = newMemory();
    const chat = withRedisMemory(new ScriptedModel((messages) => `answer ${messages.at(-1)!.text}`), { memory });
    await memory.history("s").append([human("h"), ai("answer h")]);
    await memory.history("s").append([human("A")]);
    await memory.history("s").append(since.flatMap((text) => [human(text), ai(`answer ${text}`)]));
    const input = [human("h"), ai("answer h"), human("A")];
    expect((await chat.invoke(input, { configurable: { sessionId: "s" } })).text).toBe("answer A");
    expect(texts(await memory.history("s").getTranscript())).toEqual(stored);
  });
});
