import { writeTurn } from "../../src/memory/session/append-options.js";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { closeMemories, events, newMemory, texts } from "../support/memories.js";
import { ai, human } from "../support/messages.js";

afterEach(closeMemories);

const turnId = "job-1";

describe("a turn with a name, appended to a plain history", () => {
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
