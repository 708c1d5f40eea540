import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { HistoryManager, type HistoryManagerOptions } from "../../src/entries/tool-loop.js";
import { kindsOf, memoryWith, textsOf } from "../support/user-programs.js";

/*
 * Programs as users of Unique's HistoryManager write them, for each sentence of its page.
 */
const asked = {
  originalUserMessage: "flights?",
  renderedUserMessage: "<question>flights?</question>",
  renderedSystemMessage: "Plan trips.",
};
const searching = () => new AIMessage({ content: "", tool_calls: [{ id: "c", name: "search", args: { to: "Oslo" } }] });

/** A manager of session `s`, and the memory that it stores in. */
function loop(options: Partial<HistoryManagerOptions> = {}, memory = memoryWith()) {
  return { memory, manager: new HistoryManager({ history: memory.history("s"), maxInputTokens: 4_000, ...options }) };
}

/** The characters of a request that belong to uploads, and to everything else. */
const charactersOf = (messages: readonly BaseMessage[]) => textsOf(messages).join("").length;

describe("Unique's loop of an orchestrator", () => {
  it("sends the rendered texts and stores the original ones, nothing before commit", async () => {
    const { memory, manager } = loop();
    const { messages } = await manager.getHistoryForModelCall(asked);
    expect(textsOf(messages)).toEqual(["Plan trips.", "<question>flights?</question>"]);
    manager.addAssistantMessage(new AIMessage("There are two."));
    expect(await memory.history("s").getTranscript()).toEqual([]);
    await manager.commit();
    expect(textsOf(await memory.history("s").getTranscript())).toEqual(["flights?", "There are two."]);
    expect(textsOf(await manager.getUserVisibleHistory())).toEqual(["flights?", "There are two."]);
  });

  it("shows calls and results to the next call of the model, and to later turns of other instances", async () => {
    const { memory, manager } = loop();
    await manager.getHistoryForModelCall(asked);
    manager.appendToolCalls([{ id: "c", name: "search", args: { to: "Oslo" } }]);
    await manager.addToolCallResults([{ id: "c", name: "search", content: "SK 1" }]);
    const next = await manager.getHistoryForModelCall(asked);
    expect(kindsOf(next.messages)).toEqual(["system", "human", "ai", "tool"]);
    manager.addAssistantMessage(new AIMessage("Take SK 1."));
    await manager.commit();
    const other = loop({}, memory).manager;
    const later = await other.getHistoryForModelCall({ ...asked, renderedUserMessage: "and back?" });
    expect(textsOf(later.messages)).toEqual(["Plan trips.", "flights?", "", "SK 1", "Take SK 1.", "and back?"]);
  });

  it("says that a tool failed by the words of the document", async () => {
    const { manager } = loop();
    await manager.getHistoryForModelCall(asked);
    manager.addAssistantMessage(searching());
    await manager.addToolCallResults([{ id: "c", name: "search", successful: false, content: "no index" }]);
    expect((await manager.getHistoryForModelCall(asked)).messages.at(-1)!.text).toBe(
      "Tool call search failed with error: no index",
    );
    const second = loop().manager;
    await second.getHistoryForModelCall(asked);
    second.appendToolCalls([{ id: "c", name: "book", args: {} }]);
    await second.addToolCallResults([{ id: "c", name: "book", errorMessage: "sold out" }]);
    expect((await second.getHistoryForModelCall(asked)).messages.at(-1)!.text).toBe(
      "Tool call book failed with error: sold out",
    );
  });

  it("refuses results without a call, answers without a question, and names of another case", async () => {
    const { manager } = loop();
    manager.addAssistantMessage(searching());
    await expect(manager.addToolCallResults([{ id: "other", name: "search", content: "x" }])).rejects.toMatchObject({
      option: "id",
    });
    await manager.addToolCallResults([{ id: "c", name: "search", content: "x" }]);
    await expect(manager.commit()).rejects.toMatchObject({ option: "originalUserMessage" });
    await expect(manager.getHistoryForModelCall({ ...asked, renderedUserMessageString: "x" } as never)).rejects.toThrow(
      'did you mean "renderedUserMessage"?',
    );
  });

  it("waits for results whose addition the program did not await", async () => {
    const { manager } = loop();
    await manager.getHistoryForModelCall(asked);
    manager.addAssistantMessage(searching());
    void manager.addToolCallResults([{ id: "c", name: "search", content: "SK 1" }]);
    expect((await manager.getHistoryForModelCall(asked)).messages.at(-1)!.text).toBe("SK 1");
  });

  it("takes text that no model wrote out of each request, and keeps it in the store", async () => {
    const { memory, manager } = loop();
    await manager.getHistoryForModelCall(asked);
    manager.addAssistantMessage(new AIMessage("Two. Follow-up: hotels?"));
    await manager.commit();
    const removeFromText = (text: string) => Promise.resolve(text.replace(/ Follow-up:.*/, ""));
    const { messages } = await loop({}, memory).manager.getHistoryForModelCall({ ...asked, removeFromText });
    expect(textsOf(messages)).toContain("Two.");
    expect(textsOf(await memory.history("s").getTranscript())).toContain("Two. Follow-up: hotels?");
  });
});

describe("Unique's references", () => {
  const found = (ids: readonly string[]) => ids.map((id) => ({ id, chunkId: "0", text: `flight ${id}` }));

  it("are stored all, cited or not, and keep their numbers over turns and instances", async () => {
    const { memory, manager } = loop();
    await manager.getHistoryForModelCall(asked);
    manager.addAssistantMessage(searching());
    await manager.addToolCallResults([{ id: "c", name: "search", chunks: found(["A", "B"]) }]);
    manager.addAssistantMessage(new AIMessage("Take A [source1]."));
    await manager.commit();
    const transcript = await memory.history("s").getTranscript();
    expect(textsOf(transcript).join("\n")).toMatch(/flight A[\s\S]*flight B/);
    expect(manager.references.chunkOf(2)).toMatchObject({ id: "B" });

    const other = loop({}, memory).manager;
    await other.getHistoryForModelCall(asked);
    other.appendToolCalls([{ id: "d", name: "search", args: {} }]);
    await other.addToolCallResults([{ id: "d", name: "search", chunks: found(["C"]) }]);
    expect(other.references.chunkOf(3)).toMatchObject({ id: "C" });
  });

  it("are fewer in a request that would not fit the window, the first ones kept", async () => {
    const { manager } = loop({ maxInputTokens: 600 });
    await manager.getHistoryForModelCall(asked);
    manager.addAssistantMessage(searching());
    const chunks = Array.from({ length: 20 }, (_, at) => ({ id: `${at}`, chunkId: "0", text: "a flight ".repeat(20) }));
    await manager.addToolCallResults([{ id: "c", name: "search", chunks }]);
    const { messages } = await manager.getHistoryForModelCall(asked);
    const shown = messages.at(-1)!.text.match(/a flight a flight/g)!.length;
    expect(kindsOf(messages)).toEqual(["system", "human", "ai", "tool"]);
    expect(shown).toBeGreaterThan(0);
    expect(charactersOf(messages)).toBeLessThan(20 * 180);
  });
});

describe("Unique's uploaded content", () => {
  const upload = { id: "f1", name: "flights.txt", mimeType: "text/plain", text: "SK 1 leaves at nine. ".repeat(200) };
  const picture = { id: "p1", name: "map.png", mimeType: "image/png", url: "https://example.com/map.png" };

  it("is merged into its question, text and picture, also in later turns", async () => {
    const { memory, manager } = loop();
    await manager.addUploadedContent([{ ...upload, text: "SK 1 leaves at nine." }, picture]);
    const { messages } = await manager.getHistoryForModelCall(asked);
    const content = JSON.stringify(messages.at(-1)!.content);
    expect(content).toContain("SK 1 leaves at nine.");
    expect(content).toContain("https://example.com/map.png");
    manager.addAssistantMessage(new AIMessage("At nine."));
    await manager.commit();
    const later = await loop({}, memory).manager.getHistoryForModelCall({ ...asked, renderedUserMessage: "and back?" });
    expect(JSON.stringify(later.messages[1]!.content)).toContain("SK 1 leaves at nine.");
  });

  it("takes the part of the window that is set for it", async () => {
    const sizes: number[] = [];
    for (const percentForUploadedContent of [0.1, 0.5, 0.9]) {
      const { manager } = loop({ percentForUploadedContent, maxInputTokens: 1_000 });
      await manager.addUploadedContent([upload]);
      sizes.push(charactersOf((await manager.getHistoryForModelCall(asked)).messages));
    }
    expect(sizes).toEqual([...sizes].sort((one, other) => one - other));
    expect(sizes[0]).toBeLessThan(sizes[2]!);
  });
});

describe("Unique's token window", () => {
  it("keeps the most recent messages, and a coherent conversation", async () => {
    const { memory } = loop();
    for (let turn = 0; turn < 30; turn += 1) {
      const { manager } = loop({}, memory);
      await manager.getHistoryForModelCall({ ...asked, originalUserMessage: `question ${turn} ${"word ".repeat(40)}` });
      manager.addAssistantMessage(new AIMessage(`answer ${turn}`));
      await manager.commit();
    }
    const { messages } = await loop({ maxInputTokens: 600 }, memory).manager.getHistoryForModelCall(asked);
    const shown = textsOf(messages);
    expect(messages.length).toBeLessThan(30);
    expect(shown.slice(-2)).toEqual(["answer 29", "<question>flights?</question>"]);
    expect(kindsOf(messages).slice(0, 2)).toEqual(["system", "human"]);
    expect(await memory.history("s").getTranscript()).toHaveLength(60);
  });
});
