import { AIMessage } from "@langchain/core/messages";
import { writeTurn } from "../../src/memory/session/append-options.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { ai, human } from "../support/messages.js";
import { closeMemories, events, newMemory, texts } from "../support/memories.js";

afterEach(closeMemories);

const turnId = "job-1";
const turn = (answer: string) => [human("q"), ai(answer)];
const stored = async (history: RedisChatMessageHistory) => texts(await history.getTranscript());

describe("a turn that is appended again", () => {
  it("adds nothing where its messages have ids", async () => {
    const history = newMemory().history("s");
    for (let index = 0; index < 2; index += 1) {
      const outcome = await history.append([human("q", "m1"), ai("a", { id: "m2" })]);
      expect(outcome).toMatchObject({ appended: index === 0 ? 2 : 0, duplicates: 2 * index, repeated: false });
    }
    expect(await stored(history)).toEqual(["q", "a"]);
  });
});

describe("a turn that fails or is stopped", () => {
  it("leaves its interrupted answer open, and the answer of the next try takes its place", async () => {
    const history = newMemory().history("s");
    const partial = new AIMessage({ content: "half an", response_metadata: { interrupted: true } });
    await writeTurn(history, [human("q"), partial], { turnId, turn: { done: false } });
    expect(validateConversation(await history.getMessages())).toEqual([]);
    await history.append(turn("half an hour"), { turnId });
    expect(await stored(history)).toEqual(["q", "half an hour"]);
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
