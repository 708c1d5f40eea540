import { writeTurn } from "../../src/memory/session/append-options.js";
import { AIMessage } from "@langchain/core/messages";
import { closeMemories, events, newMemory, texts } from "../support/memories.js";
import { ai, human } from "../support/messages.js";

afterEach(closeMemories);

const turnId = "job-1";

describe("a turn with a name, appended to a plain history", () => {
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
