import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { writeTurn } from "../../src/memory/session/append-options.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { repairConversation } from "../../src/conversation/structure/repair-conversation.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { ai, human, system } from "../support/messages.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { closeMemories, events, eventTypes, newMemory, texts } from "../support/memories.js";

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

  it("adds nothing if it has a turnId, even with other ids and texts", async () => {
    const history = newMemory().history("s");
    expect(await history.append(turn("a"), { turnId })).toMatchObject({ appended: 2, repeated: false });
    const again = [new HumanMessage({ id: "new", content: "q" }), ai("another", { id: "newer" })];
    expect(await history.append(again, { turnId })).toMatchObject({ appended: 0, repeated: true });
    expect(await stored(history)).toEqual(["q", "a"]);
    expect(eventTypes()).toEqual(["turn_repeated"]);
  });

  it.each(["keep", "discard"] as const)("adds nothing after reductions, with retention %s", async (retention) => {
    const memory = newMemory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 4 }), retention });
    const history = memory.history("s");
    for (let index = 1; index <= 6; index += 1) {
      await history.append([human(`q${index}`), ai(`a${index}`)], { turnId: `job-${index}` });
    }
    const before = await stored(history);
    expect(await history.append(turn("again"), { turnId })).toMatchObject({ appended: 0, repeated: true });
    expect(await stored(history)).toEqual(before);
    expect(texts(await history.getMessages())).toEqual(["q5", "a5", "q6", "a6"]);
  });

  it("adds nothing from another instance", async () => {
    const keyPrefix = uniquePrefix();
    const [one, two] = [
      newMemory({ redis: { keyPrefix } }).history("s"),
      newMemory({ redis: { keyPrefix } }).history("s"),
    ];
    await one.append(turn("a"), { turnId });
    expect(await two.append(turn("b"), { turnId })).toMatchObject({ appended: 0, repeated: true });
    expect(await stored(two)).toEqual(["q", "a"]);
  });

  it("is stored once by ten instances at the same time", async () => {
    const keyPrefix = uniquePrefix();
    const histories = Array.from({ length: 10 }, () => newMemory({ redis: { keyPrefix } }).history("s"));
    const outcomes = await Promise.all(histories.map((history, at) => history.append(turn(`a${at}`), { turnId })));
    expect(outcomes.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(await stored(histories[0]!)).toHaveLength(2);
  });
});

describe("a whole history that is appended with each turn", () => {
  it("adds only what is new where its messages have ids", async () => {
    const history = newMemory().history("s");
    const all: BaseMessage[] = [];
    for (let index = 1; index <= 4; index += 1) {
      all.push(human(`q${index}`, `q${index}`), ai(`a${index}`, { id: `a${index}` }));
      expect((await history.append(all)).appended).toBe(2);
    }
    expect(await stored(history)).toEqual(texts(all));
  });

  it("is a turn like any other where they have none: append compares no texts", async () => {
    const history = newMemory().history("s");
    await history.append([human("q1"), ai("a1")]);
    await history.append([human("q1"), ai("a1"), human("q2"), ai("a2")]);
    expect(await stored(history)).toEqual(["q1", "a1", "q1", "a1", "q2", "a2"]);
  });
});

describe("a turn that fails or is stopped", () => {
  it("is stored not at all where one of its messages cannot be stored, and whole by the next try", async () => {
    const history = newMemory({ redis: { limits: { maxMessageBytes: 1_000 } } }).history("s");
    await expect(history.append(turn("a".repeat(2_000)), { turnId })).rejects.toMatchObject({ code: "too_large" });
    expect(await stored(history)).toEqual([]);
    expect(await history.append(turn("a"), { turnId })).toMatchObject({ appended: 2, repeated: false });
  });

  it("leaves its interrupted answer open, and the answer of the next try takes its place", async () => {
    const history = newMemory().history("s");
    const partial = new AIMessage({ content: "half an", response_metadata: { interrupted: true } });
    await writeTurn(history, [human("q"), partial], { turnId, turn: { done: false } });
    expect(validateConversation(await history.getMessages())).toEqual([]);
    await history.append(turn("half an hour"), { turnId });
    expect(await stored(history)).toEqual(["q", "half an hour"]);
  });
});

describe("a turn", () => {
  it("stays together where ten writers store theirs at the same time", async () => {
    const keyPrefix = uniquePrefix();
    const writers = Array.from({ length: 10 }, () => newMemory({ redis: { keyPrefix } }).history("s"));
    await Promise.all(writers.map((history, at) => history.append([human(`q${at}`), ai(`a${at}`)])));
    const all = await stored(writers[0]!);
    expect(all).toHaveLength(20);
    for (let at = 0; at < 20; at += 2) {
      expect(all[at + 1]).toBe(all[at]!.replace("q", "a"));
    }
  });

  it("comes back with its structured answer as it was stored", async () => {
    const history = newMemory().history("s");
    const answer = new AIMessage({
      content: '{"city":"Oslo"}',
      additional_kwargs: { parsed: { city: "Oslo" } },
      tool_calls: [],
    });
    await history.append([human("where?"), answer], { turnId });
    const [, read] = await history.getMessages();
    expect([read!.content, read!.additional_kwargs]).toEqual([answer.content, answer.additional_kwargs]);
  });

  it("may begin with a greeting, which a repair makes fit for anthropic", async () => {
    const history = newMemory().history("s");
    await history.append([ai("Hello!")]);
    await history.append(turn("a"));
    const view = await history.getMessages();
    expect(texts(view)).toEqual(["Hello!", "q", "a"]);
    const { messages } = repairConversation([...view, human("q2")], { profile: "anthropic", purpose: "model-input" });
    expect(validateConversation(messages, { profile: "anthropic", purpose: "model-input" })).toEqual([]);
  });

  it("stores a system message that comes with each turn once where it has an id, else each time", async () => {
    const withId = newMemory().history("s");
    const without = newMemory().history("s");
    for (let index = 1; index <= 3; index += 1) {
      const instruction = system("Be brief.");
      await without.append([instruction, human(`q${index}`)]);
      instruction.id = "instruction";
      await withId.append([instruction, human(`q${index}`)]);
    }
    expect(await stored(withId)).toEqual(["Be brief.", "q1", "q2", "q3"]);
    expect(await stored(without)).toEqual(["Be brief.", "q1", "Be brief.", "q2", "Be brief.", "q3"]);
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
