import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { BudgetError, ConfigurationError } from "../../src/base/errors.js";
import { asking, newSession } from "./instances.js";

const textOf = (message: BaseMessage | undefined) =>
  typeof message?.content === "string"
    ? message.content
    : (message?.content ?? []).map((part) => (part.type === "text" ? part["text"] : part.type)).join("|");
const note = { id: "note", name: "note.txt", mimeType: "text/plain", text: "the note" };
const photo = { id: "photo", name: "photo.png", mimeType: "image/png", data: new Uint8Array([1, 2, 3]) };

describe("uploaded content", () => {
  it("stays with the message it belongs to, in this turn and in the next on another instance", async () => {
    const session = newSession();
    const first = session.instance();
    await first.addUploadedContent([note, photo]);
    const { messages } = await first.getHistoryForModelCall(asking("hi", { renderedUserMessage: "Rendered" }));
    expect(messages.at(-1)?.content).toEqual([
      { type: "text", text: "Rendered" },
      { type: "text", text: 'Uploaded file "note.txt" (text/plain):\nthe note' },
      { type: "text", text: 'Uploaded file "photo.png" (image/png):' },
      { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
    ]);
    first.addAssistantMessage(new AIMessage("seen"));
    await first.commit();

    const second = session.instance();
    const next = await second.getHistoryForModelCall(asking("and?"));
    expect(next.messages.map(textOf)).toEqual([
      "Be kind.",
      'hi|Uploaded file "note.txt" (text/plain):\nthe note|Uploaded file "photo.png" (image/png):|image_url',
      "seen",
      "and?",
    ]);
    expect((await session.history().getTranscript()).map(({ content }) => content)).toEqual(["hi", "seen"]);
  });

  it("moves to the current message if its own message is no longer shown", async () => {
    const session = newSession();
    await session
      .history()
      .addMessages([new HumanMessage({ content: "old".repeat(500), id: "old" }), new AIMessage("x")]);
    const manager = session.instance({ maxInputTokens: 300 });
    await manager.addUploadedContent([{ ...note, messageId: "old" }]);
    const { messages, outcome } = await manager.getHistoryForModelCall(asking("hi"));
    expect(messages.map(textOf)).toEqual(["Be kind.", 'hi|Uploaded file "note.txt" (text/plain):\nthe note']);
    expect(outcome.removed.map(({ type }) => type)).toEqual(["human", "ai"]);
    expect(outcome.shortened).toEqual([]);
  });

  it("gets no more than its share of the window; what does not fit is cut with a note, the oldest first", async () => {
    const manager = newSession(2000).instance({ percentForUploadedContent: 0.5 });
    await manager.addUploadedContent([
      { ...note, id: "a", text: "a".repeat(3000) },
      { ...note, id: "b", text: "b".repeat(500) },
    ]);
    const { messages, outcome } = await manager.getHistoryForModelCall(asking("hi"));
    const uploads = outcome.tokens - 33;
    expect(uploads).toBeLessThanOrEqual(0.5 * (2000 - 33));
    expect(uploads).toBeGreaterThan(700);
    expect(textOf(messages.at(-1))).toMatch(/a+\n\[Cut: the first \d+ of 3000 characters are shown\.\]/);
    expect(textOf(messages.at(-1))).toContain("b".repeat(500));
    expect(outcome).toMatchObject({ removed: [], shortened: ["a"] });
  });

  it("leaves its unused share to the history", async () => {
    const session = newSession();
    for (let round = 0; round < 20; round += 1) {
      await session.history().addMessages([new HumanMessage("q".repeat(30)), new AIMessage("a".repeat(30))]);
    }
    const given = async (share: number) => {
      const manager = session.instance({ maxInputTokens: 1000, percentForUploadedContent: share });
      await manager.addUploadedContent([note]);
      return (await manager.getHistoryForModelCall(asking("hi"))).messages.length;
    };
    expect(await given(0.9)).toBe(await given(0.1));
    expect(await given(0.9)).toBeGreaterThan(20);
  });

  it("replaces an image that does not fit with a note, and hides it if uploads get no share", async () => {
    const manager = newSession(400).instance();
    await manager.addUploadedContent([photo]);
    const { messages, outcome } = await manager.getHistoryForModelCall(asking("hi"));
    expect(textOf(messages.at(-1))).toBe(
      'hi|[Uploaded file "photo.png" (image/png) omitted: it does not fit the context window.]',
    );
    expect(outcome.shortened).toEqual(["photo"]);
    const none = newSession().instance({ percentForUploadedContent: 0 });
    await none.addUploadedContent([photo, note]);
    const hidden = await none.getHistoryForModelCall(asking("hi"));
    expect(hidden.messages.map(textOf)).toEqual(["Be kind.", "hi"]);
    expect(hidden.outcome.shortened).toEqual(["photo", "note"]);
  });

  it("decodes text files from their bytes and names files that it cannot show", async () => {
    const manager = newSession().instance();
    await manager.addUploadedContent([
      { id: "1", name: "a.json", mimeType: "application/json", data: Buffer.from('{"ü":1}').toString("base64") },
      { id: "2", name: "b.pdf", mimeType: "application/pdf", data: new Uint8Array([1]) },
      { id: "3", name: "c.pdf", mimeType: "application/pdf", url: "https://example.com/c.pdf" },
    ]);
    const { messages } = await manager.getHistoryForModelCall(asking("hi"));
    expect(textOf(messages.at(-1)).split("|")).toEqual([
      "hi",
      'Uploaded file "a.json" (application/json):\n{"ü":1}',
      '[Uploaded file "b.pdf" (application/pdf): content not shown.]',
      '[Uploaded file "c.pdf" (application/pdf) at https://example.com/c.pdf: content not shown.]',
    ]);
  });

  it("replaces an upload with the same id, and can be removed", async () => {
    const session = newSession();
    const turn = async (text: string) => {
      const manager = session.instance();
      const shown = textOf((await manager.getHistoryForModelCall(asking(text))).messages[1]);
      return { manager, shown };
    };
    const first = session.instance();
    await first.addUploadedContent([note]);
    await first.addUploadedContent([{ ...note, text: "the second note" }]);
    await first.getHistoryForModelCall(asking("hi"));
    await first.commit();
    const second = await turn("two");
    expect(second.shown).toBe('hi|Uploaded file "note.txt" (text/plain):\nthe second note');
    second.manager.removeUploadedContent(["note"]);
    await second.manager.commit();
    expect((await turn("three")).shown).toBe("hi");
  });

  it("has size limits, each with an error that says what to do", async () => {
    const session = newSession();
    const manager = session.instance({ maxUploadBytes: 1000, maxUploadsBytes: 1500 });
    await expect(manager.addUploadedContent([{ ...note, text: "x".repeat(1000) }])).rejects.toThrow(
      /"maxUploadBytes" allows 1000/,
    );
    await manager.addUploadedContent([{ ...note, text: "x".repeat(800) }]);
    await manager.getHistoryForModelCall(asking("hi"));
    await manager.commit();
    const more = { ...note, id: "more", text: "x".repeat(700) };
    await expect(manager.addUploadedContent([more])).rejects.toThrow(BudgetError);
    manager.removeUploadedContent(["note"]);
    await manager.addUploadedContent([more]);
  });

  it.each([
    "no JSON",
    "null",
    '{"id":"note","name":"note.txt","sequence":1}',
    '{"id":"note","name":"note.txt","mimeType":"text/plain","sequence":1,"text":7}',
    '{"id":"note","name":"note.txt","mimeType":"image/png","sequence":1,"url":{}}',
  ])("is left out if its stored form is damaged: %s", async (stored) => {
    const session = newSession();
    await session.store.data.writeSide({ id: "s" }, { set: { "history:upload:note": stored } });
    expect((await session.instance().getHistoryForModelCall(asking("hi"))).messages.map(textOf)).toEqual([
      "Be kind.",
      "hi",
    ]);
  });

  it.each([
    [{ id: "a", name: "a", mimeType: "text/plain" }],
    [{ id: "a", name: "a", mimeType: "text/plain", text: "x", url: "y" }],
    [{ id: "", name: "a", mimeType: "text/plain", text: "x" }],
    [{ id: "a", name: "a", mimeType: "text/plain", text: "x", size: 3 } as never],
  ])("refuses invalid content: %j", async (content) => {
    await expect(newSession().instance().addUploadedContent([content])).rejects.toThrow(ConfigurationError);
  });
});
