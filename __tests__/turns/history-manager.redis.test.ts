import { AIMessage } from "@langchain/core/messages";
import type { HistoryManagerOptions, ModelCallRequest } from "../../src/doors/tool-loop/history-manager-options.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { writeTurn } from "../../src/memory/session/append-input.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { ai, human } from "../support/messages.js";
import { characterCounter } from "../history-manager/instances.js";
import { events, newMemory, texts } from "../support/memories.js";

const turnId = "job-1";

function managerOf(
  memory: RedisChatMemory | RedisChatMessageHistory,
  options: Partial<HistoryManagerOptions> = {},
): HistoryManager {
  const history = memory instanceof RedisChatMessageHistory ? memory : memory.history("s");
  return new HistoryManager({ history, maxInputTokens: 100_000, tokenCounter: characterCounter(), ...options });
}

const asking = (question: string, rest: Partial<ModelCallRequest> = {}): ModelCallRequest => ({
  originalUserMessage: question,
  renderedUserMessage: `rendered ${question}`,
  renderedSystemMessage: "",
  ...rest,
});

/** One turn, from the model call to the commit. Returns what the model saw. */
async function run(
  manager: HistoryManager,
  { question, answer, ...rest }: { question: string; answer: string } & Partial<ModelCallRequest>,
): Promise<string[]> {
  const { messages } = await manager.getHistoryForModelCall(asking(question, rest));
  manager.addAssistantMessage(ai(answer));
  await manager.commit();
  return texts(messages);
}

const transcript = async (memory: RedisChatMemory) => texts(await memory.history("s").getTranscript());

describe("a turn of a HistoryManager that runs again", () => {
  it("is recognized by a turnId that only commit is given", async () => {
    const memory = newMemory();
    for (const answer of ["a1", "another answer"]) {
      const manager = managerOf(memory);
      await manager.getHistoryForModelCall(asking("q1"));
      manager.addAssistantMessage(ai(answer));
      await manager.commit({ turnId });
    }
    expect(await transcript(memory)).toEqual(["q1", "a1"]);
  });

  it("is recognized by the id of the question that the application stored before", async () => {
    const memory = newMemory();
    const ask = () => writeTurn(memory.history("s"), [human("q1", "m1")], { turnId, turn: { done: false } });
    for (const answer of ["a1", "another answer"]) {
      await ask();
      expect(await run(managerOf(memory), { question: "q1", answer, turnId })).toEqual(["rendered q1"]);
    }
    expect(await transcript(memory)).toEqual(["q1", "a1"]);
  });

  it("costs one read, and has the stored answer: no model is to be called", async () => {
    const memory = newMemory();
    for (const operations of [
      ["append", "readSide", "readView"],
      ["readSide", "readView"],
    ]) {
      await run(managerOf(memory), { question: "q1", answer: "a1", turnId });
      const commands = events.splice(0).flatMap((event) => (event.type === "command" ? [event.operation] : []));
      expect(commands.sort()).toEqual(operations);
    }
    const { replay } = await managerOf(memory).getHistoryForModelCall(asking("q1", { turnId }));
    expect(texts(replay!)).toEqual(["a1"]);
    expect((await managerOf(memory).getHistoryForModelCall(asking("q2"))).replay).toBeUndefined();
  });

  it("shows the user what is stored, and nothing of the second try", async () => {
    const memory = newMemory();
    await run(managerOf(memory), { question: "q1", answer: "a1", turnId });
    const manager = managerOf(memory);
    await manager.getHistoryForModelCall(asking("q1", { turnId }));
    manager.addAssistantMessage(ai("another answer"));
    expect(texts(await manager.getUserVisibleHistory())).toEqual(["q1", "a1"]);
  });

  it("shows its uploads with its question", async () => {
    const memory = newMemory();
    const first = managerOf(memory);
    await first.addUploadedContent([{ id: "u", name: "a.txt", mimeType: "text/plain", text: "upload" }]);
    const shown = await run(first, { question: "q1", answer: "a1", turnId });
    expect(shown.at(-1)).toContain("upload");
    expect(await run(managerOf(memory), { question: "q1", answer: "a2", turnId })).toEqual(shown);
  });

  it("is not mixed up with another turn: a turn has one name", async () => {
    const manager = managerOf(newMemory());
    await manager.getHistoryForModelCall(asking("q1", { turnId }));
    await expect(manager.getHistoryForModelCall(asking("q1", { turnId: "job-2" }))).rejects.toMatchObject({
      name: "ConfigurationError",
      option: "turnId",
    });
    await expect(manager.commit({ turnId: "job-2" })).rejects.toMatchObject({ option: "turnId" });
    manager.discardTurn();
    await manager.getHistoryForModelCall(asking("q2", { turnId: "job-2" }));
  });
});

describe("a turn of a HistoryManager of which a part is stored", () => {
  it("goes on behind the steps that are stored, as after a rewind that removed the answer", async () => {
    const memory = newMemory();
    const first = managerOf(memory);
    await first.getHistoryForModelCall(asking("q1", { turnId }));
    first.appendToolCalls([{ id: "c1", name: "search", args: {} }]);
    await first.addToolCallResults([{ id: "c1", name: "search", content: "found" }]);
    first.addAssistantMessage(new AIMessage({ id: "answer", content: "a1" }));
    await first.commit();
    await memory.history("s").rewind("answer");
    const second = managerOf(memory);
    const { messages } = await second.getHistoryForModelCall(asking("q1", { turnId }));
    expect(texts(messages)).toEqual(["rendered q1", "", "found"]);
    expect(validateConversation(messages, { purpose: "model-input" })).toEqual([]);
    second.addAssistantMessage(ai("a2"));
    await second.commit();
    expect(await transcript(memory)).toEqual(["q1", "", "found", "a2"]);
  });

  it("replaces an interrupted answer at the end of the session", async () => {
    const memory = newMemory();
    const stopped = managerOf(memory);
    await stopped.getHistoryForModelCall(asking("q1", { turnId }));
    stopped.addAssistantMessage(new AIMessage({ content: "half an", response_metadata: { interrupted: true } }));
    await stopped.commit();
    expect(await transcript(memory)).toEqual(["q1", "half an"]);
    expect(await run(managerOf(memory), { question: "q1", answer: "half an hour", turnId })).toEqual(["rendered q1"]);
    expect(await transcript(memory)).toEqual(["q1", "half an hour"]);
  });
});

describe("what the application stored of the question before a HistoryManager runs", () => {
  it("is the turn's question where it is exactly the original text", async () => {
    const memory = newMemory();
    await memory.history("s").append([human("q")]);
    expect(await run(managerOf(memory), { question: "q", answer: "a" })).toEqual(["rendered q"]);
    expect(await transcript(memory)).toEqual(["q", "a"]);
  });

  it.each(["q\n\nfile.pdf: 3 pages", "question", "another", " q", "Q"])(
    "is another question where it does not: %j",
    async (stored) => {
      const memory = newMemory();
      await memory.history("s").append([human(stored)]);
      expect(await run(managerOf(memory), { question: "q", answer: "a" })).toEqual([stored, "rendered q"]);
      expect(await transcript(memory)).toEqual([stored, "q", "a"]);
    },
  );

  it("is not taken for the question once it is answered", async () => {
    const memory = newMemory();
    await memory.history("s").append([human("q"), ai("a")]);
    expect(await run(managerOf(memory), { question: "q", answer: "b" })).toEqual(["q", "a", "rendered q"]);
    expect(await transcript(memory)).toEqual(["q", "a", "q", "b"]);
  });
});

describe("a turn of a HistoryManager that fails or is stopped", () => {
  it("marks its question and steps where the provider refused them, with their sources, and only then", async () => {
    const memory = newMemory();
    for (const [status, stored] of [
      [429, []],
      [400, ["q1", "", '[{"source_number":1,"content_id":"a","content":"found"}]', ""]],
    ] as const) {
      const failed = managerOf(memory);
      await failed.getHistoryForModelCall(asking("q1", { turnId }));
      failed.appendToolCalls([{ id: "c1", name: "search", args: {} }]);
      const chunks = [{ id: "a", chunkId: "0", text: "found" }];
      await failed.addToolCallResults([{ id: "c1", name: "search", chunks }]);
      await failed.failTurn(Object.assign(new Error("refused"), { status }));
      expect((await transcript(memory)).map((text) => text.replace(/"source_number":\d/, '"source_number":1'))).toEqual(
        stored,
      );
    }
    const later = managerOf(memory);
    const { messages } = await later.getHistoryForModelCall(asking("q2"));
    expect(texts(messages)).toEqual(["q1", "", expect.stringContaining("refused to read"), "rendered q2"]);
    expect(later.references.toList()).toHaveLength(1);
    const retry = await run(managerOf(memory), { question: "q1", answer: "a1", turnId });
    expect(retry).toEqual(["rendered q1", "", expect.stringContaining("found")]);
  });

  it("marks nothing before a request was made, and never rejects", async () => {
    const memory = newMemory();
    const manager = managerOf(memory);
    await manager.failTurn(Object.assign(new Error("refused"), { status: 400 }));
    expect(await transcript(memory)).toEqual([]);
    await manager.getHistoryForModelCall(asking("q1", { turnId }));
    await memory.close();
    await manager.failTurn(Object.assign(new Error("refused"), { status: 400 }));
    expect(events).toContainEqual(expect.objectContaining({ type: "turn_not_stored", reason: "failed", turnId }));
  });
});

describe("a turn of a HistoryManager", () => {
  it("does not come back after the session was cleared while it ran", async () => {
    const memory = newMemory();
    await writeTurn(memory.history("s"), [human("q1")], { turnId, turn: { done: false } });
    const manager = managerOf(memory);
    await manager.getHistoryForModelCall(asking("q1", { turnId }));
    await memory.history("s").clear();
    manager.addAssistantMessage(ai("a1"));
    await manager.commit();
    expect(await transcript(memory)).toEqual([]);
    expect(events).toContainEqual({ type: "turn_not_stored", sessionId: "s", turnId, reason: "forgotten" });
  });

  it("does not come back as an answer without its question where it was stored and another rewinds it", async () => {
    const memory = newMemory();
    await run(managerOf(memory), { question: "q0", answer: "a0" });
    await run(managerOf(memory), { question: "q1", answer: "a1", turnId });
    const retry = managerOf(memory);
    await retry.getHistoryForModelCall(asking("q1", { turnId }));
    await memory.history("s").rewind(`${turnId}-0`);
    retry.addAssistantMessage(ai("another answer"));
    await retry.commit();
    expect(await transcript(memory)).toEqual(["q0", "a0"]);
    expect(events).toContainEqual({ type: "turn_repeated", sessionId: "s", turnId });
  });

  it("lets the option profile win over the memory's", async () => {
    const memory = newMemory({ profile: "anthropic" });
    await memory.history("s").append([ai("Hello!")]);
    const { messages } = await managerOf(memory, { profile: "openai" }).getHistoryForModelCall(asking("q1"));
    expect(texts(messages)).toEqual(["Hello!", "rendered q1"]);
    expect(() => managerOf(memory, { profile: "antropic" as never })).toThrow(
      expect.objectContaining({ option: "profile" }) as Error,
    );
  });

  it("stays within the window where the profile asks for a message more", async () => {
    const memory = newMemory({ profile: "anthropic" });
    await memory.history("s").append([ai("Hello!"), human("q1"), ai("a1")]);
    for (let maxInputTokens = 30; maxInputTokens < 140; maxInputTokens += 1) {
      const manager = managerOf(memory, { maxInputTokens, safetyMargin: 0 });
      const { messages, outcome } = await manager.getHistoryForModelCall(asking("q2"));
      expect(outcome.overBudgetBy).toBe(0);
      expect(validateConversation(messages, { profile: "anthropic", purpose: "model-input" })).toEqual([]);
    }
    // A read and a model call for each of the windows.
  });
});
