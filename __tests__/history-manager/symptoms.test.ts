import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { asking, call, chunks, newSession, resultOf, search, sourcesIn } from "./instances.js";

/** What went wrong in the system that this one is modelled on, by what its users saw. */
describe("HistoryManager, where an earlier implementation failed", () => {
  const found = (id: string, count: number) => {
    return { chunks: chunks(count, { id, length: 100 }), systemReminder: "Cite your sources." };
  };

  it("never keeps more sources in a smaller window (it kept 7 of 10 at 1.33 times the limit, 8 at 1.34)", async () => {
    const kept: number[] = [];
    for (let window = 1600; window >= 150; window -= 10) {
      const manager = newSession(window).instance();
      await search(manager, "c", found("c", 10));
      kept.push(sourcesIn((await manager.getHistoryForModelCall(asking("hi"))).messages, "c").length);
    }
    expect(kept).toEqual([...kept].sort((a, b) => b - a));
    expect([kept[0], kept.at(-1)]).toEqual([10, 0]);
  });

  it("shows images from tools in every iteration, also from failed calls", async () => {
    const manager = newSession().instance();
    manager.appendToolCalls([call("plot"), call("broken")]);
    await manager.addToolCallResults([
      { id: "plot", name: "search", content: "done", imageDataUrls: ["data:image/png;base64,AQID"] },
      { id: "broken", name: "search", errorMessage: "no axis", imageDataUrls: ["https://example.com/half.png"] },
    ]);
    const shown = async () => {
      const { messages } = await manager.getHistoryForModelCall(asking("hi"));
      return messages.find((message) => message.getType() === "human")?.content;
    };
    const first = await shown();
    expect(first).toEqual([
      { type: "text", text: "hi" },
      { type: "text", text: "Image from tool call plot (search):" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
      { type: "text", text: "Image from tool call broken (search):" },
      { type: "image_url", image_url: { url: "https://example.com/half.png" } },
    ]);
    await search(manager, "next", found("next", 1));
    expect(await shown()).toEqual(first);
    manager.addAssistantMessage(new AIMessage("done"));
    expect(await shown()).toEqual(first);
  });

  it("keeps the history beside a long user message if there is room", async () => {
    const session = newSession(2000);
    await session.history().addMessages([new HumanMessage("before"), new AIMessage("answer")]);
    const { messages } = await session.instance().getHistoryForModelCall(asking("x".repeat(1500)));
    expect(messages).toHaveLength(4);
  });

  it("renders only the current user message, not earlier messages with the same text", async () => {
    const session = newSession();
    await session.history().addMessages([new HumanMessage("a"), new AIMessage("a and a")]);
    const manager = session.instance();
    await manager.addUploadedContent([{ id: "u", name: "a", mimeType: "text/plain", text: "a a a" }]);
    const { messages } = await manager.getHistoryForModelCall(asking("a", { renderedUserMessage: "Answer: a" }));
    expect(messages.map(({ content }) => content)).toEqual([
      "Be kind.",
      "a",
      "a and a",
      [
        { type: "text", text: "Answer: a" },
        { type: "text", text: 'Uploaded file "a" (text/plain):\na a a' },
      ],
    ]);
  });

  it("cleans messages with content parts, and never cleans tool results", async () => {
    const session = newSession();
    const junk = " <stock ticker>";
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    const toolJson = new ToolMessage({ content: `[{"content":"${junk}"}]`, tool_call_id: "c", name: "search" });
    await session.history().addMessages([
      new HumanMessage({ content: [{ type: "text", text: `look${junk}` }, image, { type: "input_text", text: junk }] }),
      new AIMessage({
        content: `Searching${junk}`,
        tool_calls: [{ type: "tool_call", ...call("c", { query: junk }) }],
      }),
      toolJson,
      new AIMessage({ content: [{ type: "text", text: `done${junk}` }] }),
      new AIMessage(junk),
    ]);
    const removals = [(text: string) => text.replace("<stock ticker>", ""), async (text: string) => text.trim()];
    const { messages } = await session.instance().getHistoryForModelCall(asking("hi", { removeFromText: removals }));
    expect(messages.slice(1, -1).map(({ content }) => content)).toEqual([
      [{ type: "text", text: "look" }, image],
      "Searching",
      toolJson.content,
      [{ type: "text", text: "done" }],
    ]);
    expect((messages[2] as AIMessage).tool_calls?.[0]?.args).toEqual({ query: junk });
    expect((await session.history().getTranscript())[1]?.content).toBe(`Searching${junk}`);
  });

  it("leaves out what was not cited where a later request is too large, and stores it all the same", async () => {
    const session = newSession(3_400);
    for (const [turn, id] of ["a", "b"].entries()) {
      const manager = session.instance();
      await manager.getHistoryForModelCall(asking(`question ${id}`));
      await search(manager, id, found(id, 10));
      manager.addAssistantMessage(new AIMessage(`See [source${10 * turn + 8}].`));
      await manager.commit();
    }
    const { messages, outcome } = await session.instance().getHistoryForModelCall(asking("x".repeat(1_000)));
    expect(outcome).toMatchObject({ overBudgetBy: 0, removed: [], shortened: ["a", "b"] });
    for (const [turn, id] of ["a", "b"].entries()) {
      const shown = sourcesIn(messages, id);
      expect(shown).toContain(10 * turn + 8);
      expect(shown.slice(0, -1)).toEqual(Array.from(shown.slice(1), (_, index) => 10 * turn + 1 + index));
    }
    const stored = await session.history().getTranscript();
    expect([...sourcesIn(stored, "a"), ...sourcesIn(stored, "b")]).toHaveLength(20);
  });

  it("stores cited sources in full, even if the model saw them cut", async () => {
    const session = newSession(600);
    const manager = session.instance();
    await search(manager, "a", { chunks: chunks(3, { length: 2000 }) });
    const { messages } = await manager.getHistoryForModelCall(asking("hi"));
    expect(resultOf(messages, "a")).toContain("[Cut:");
    manager.addAssistantMessage(new AIMessage("[source1]"));
    await manager.commit();
    expect(resultOf(await session.history().getTranscript(), "a")).toContain(chunks(1, { length: 2000 })[0]!.text);
  });

  it("keeps the sources of a turn without an answer", async () => {
    const session = newSession();
    const manager = session.instance();
    await manager.getHistoryForModelCall(asking("hi"));
    await search(manager, "a", found("a", 2));
    await manager.commit();
    expect(sourcesIn(await session.history().getTranscript(), "a")).toEqual([1, 2]);
    expect(manager.references.toList()).toHaveLength(2);
  });

  it("keeps an upload after the last message, and one whose message is not shown", async () => {
    const session = newSession();
    await session.history().addMessages([new HumanMessage({ content: "first", id: "q1" }), new AIMessage("answer")]);
    const manager = session.instance();
    await manager.addUploadedContent([
      { id: "late", name: "late", mimeType: "text/plain", text: "LATE" },
      { id: "early", name: "early", mimeType: "text/plain", text: "EARLY", messageId: "q1" },
    ]);
    const { messages } = await manager.getHistoryForModelCall(asking("second"));
    const where = (text: string) =>
      messages.findIndex((message: BaseMessage) => JSON.stringify(message.content).includes(text));
    expect([where("EARLY"), where("LATE")]).toEqual([1, 3]);
  });
});
