import { writeTurn } from "../../src/memory/session/append-options.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { uniquePrefix } from "../support/shared-redis.js";
import { closeMemories, events, newMemory, texts } from "../support/memories.js";
import { ai, human } from "../support/messages.js";

afterEach(closeMemories);

const turnId = "job-1";

describe("a turn with a name, appended to a plain history", () => {
  it("is stored once, even if the retry has other ids and texts", async () => {
    const history = newMemory().history("s");
    const first = await history.append([human("q"), ai("a")], { turnId });
    const again = await history.append([human("q", "other"), ai("another answer")], { turnId });
    expect([first.repeated, again.repeated, again.appended]).toEqual([false, true, 0]);
    expect(texts(await history.getTranscript())).toEqual(["q", "a"]);
    expect(events).toContainEqual({ type: "turn_repeated", sessionId: "s", turnId });
  });

  it("costs one round trip, and so does its repetition", async () => {
    const history = newMemory().history("s");
    await history.append([human("q"), ai("a")], { turnId });
    await history.append([human("q"), ai("a")], { turnId });
    expect(events.filter(({ type }) => type === "command")).toHaveLength(2);
  });

  it("takes the same part again as done, also where others wrote between its parts", async () => {
    const history = newMemory().history("s");
    const write = (messages: BaseMessage[], stored: number, done: boolean) =>
      writeTurn(history, messages, { turnId, turn: { stored, done } });
    await write([human("q")], 0, false);
    await history.addMessages([human("other"), ai("said otherwise")]);
    const part = [ai("part")];
    expect(await write(part, 1, false)).toMatchObject({ appended: 1, turnCount: 2 });
    await history.addMessages([human("third")]);
    // As a client sends it whose reply was lost.
    const again = await write(part, 1, false);
    expect([again.refused, again.appended, again.turnCount]).toEqual([undefined, 0, 2]);
    const rest = [ai("rest")];
    expect(await write(rest, 2, true)).toMatchObject({ appended: 1, turnCount: 3 });
    const { repeated, storedTurn } = await write([ai("another rest")], 2, true);
    expect([repeated, storedTurn?.records.length]).toEqual([true, 3]);
    expect(texts(await history.getTranscript())).toEqual(["q", "other", "said otherwise", "part", "third", "rest"]);
  });

  it("is stored once by two instances at the same time", async () => {
    const keyPrefix = uniquePrefix();
    const histories = [
      newMemory({ redis: { keyPrefix } }).history("s"),
      newMemory({ redis: { keyPrefix } }).history("s"),
    ];
    const outcomes = await Promise.all(
      histories.map((history, index) => history.append([human("q"), ai(`a${index}`)], { turnId })),
    );
    expect(outcomes.map(({ repeated }) => repeated).sort()).toEqual([false, true]);
    expect(await histories[0]!.getTranscript()).toHaveLength(2);
  });

  it.each(["keep", "discard"] as const)("stays known after reductions with retention %s", async (retention) => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const history = newMemory({ reducer, retention }).history("s");
    for (let index = 1; index <= 5; index += 1) {
      await history.append([human(`q${index}`), ai(`a${index}`)], { turnId: `job-${index}` });
    }
    const again = await history.append([human("q1"), ai("again")], { turnId });
    expect(again.repeated).toBe(true);
    expect(texts(await history.getMessages())).toEqual(["q5", "a5"]);
  });

  it("is forgotten by a rewind that removes it, by clear, and by nothing else", async () => {
    const history = newMemory().history("s");
    await history.append([human("q", "q"), ai("a", { id: "a" })], { turnId });
    await history.rewind("q");
    expect((await history.append([human("q"), ai("a")], { turnId })).appended).toBe(2);
    await history.clear();
    expect((await history.append([human("q"), ai("a")], { turnId })).appended).toBe(2);
    await history.rebuild();
    expect((await history.append([human("q"), ai("a")], { turnId })).repeated).toBe(true);
  });

  it("is open after a rewind that removes its answer: the question is used and the rest added", async () => {
    const history = newMemory().history("s");
    await history.append([human("q", "q"), ai("a", { id: "a" })], { turnId });
    await history.rewind("a");
    const again = await history.append([human("q", "new id"), ai("b")], { turnId });
    expect([again.appended, again.repeated]).toEqual([1, false]);
    expect(texts(await history.getTranscript())).toEqual(["q", "b"]);
    expect((await history.append([human("q"), ai("c")], { turnId })).repeated).toBe(true);
  });

  it("is restored by a rebuild after its marks were lost", async () => {
    const memory = newMemory({ onDamage: "rebuild" });
    const history = memory.history("s");
    await history.append([human("q"), ai("a")], { turnId });
    await history.rebuild();
    expect((await history.append([human("q"), ai("b")], { turnId })).repeated).toBe(true);
  });

  it("replaces an interrupted answer at the end of the session, and nothing if others wrote since", async () => {
    const history = newMemory().history("s");
    const partial = () => new AIMessage({ content: "half an", response_metadata: { interrupted: true } });
    await writeTurn(history, [human("q"), partial()], { turnId, turn: { done: false } });
    const again = await history.append([human("q"), ai("half an hour")], { turnId });
    expect([again.appended, again.repeated]).toEqual([1, false]);
    expect(texts(await history.getTranscript())).toEqual(["q", "half an hour"]);
    await writeTurn(history, [human("q2"), partial()], { turnId: "job-2", turn: { done: false } });
    await history.append([human("q3"), ai("a3")]);
    const late = history.append([human("q2"), ai("late")], { turnId: "job-2" });
    await expect(late).rejects.toMatchObject({ name: "ConflictError", code: "position", retryable: false });
    expect(events).toContainEqual({ type: "turn_not_stored", sessionId: "s", turnId: "job-2", reason: "overtaken" });
    expect(texts(await history.getTranscript())).toEqual(["q", "half an hour", "q2", "half an", "q3", "a3"]);
  });
});
