import { AIMessage, AIMessageChunk, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { ConfigurationError, ConflictError, StructureError } from "../../src/base/errors.js";
import { asking, call, chunks, newSession, resultOf, search, sourcesIn } from "./instances.js";
import { ai, human, system } from "../support/messages.js";

describe("HistoryManager", () => {
  it("returns system prompt, history, rendered user message and loop, in this order", async () => {
    const session = newSession();
    await session.history().addMessages([human("earlier"), ai("before")]);
    const manager = session.instance();
    manager.appendToolCalls([call("c1"), call("c2")]);
    await manager.addToolCallResults([
      { id: "c2", name: "search", content: "two" },
      { id: "c1", name: "search", content: "one" },
    ]);
    const { messages, outcome } = await manager.getHistoryForModelCall(
      asking("hi", { renderedUserMessage: "Rendered: hi" }),
    );
    expect(messages.map((message) => [message.getType(), message.content])).toEqual([
      ["system", "Be kind."],
      ["human", "earlier"],
      ["ai", "before"],
      ["human", "Rendered: hi"],
      ["ai", ""],
      ["tool", "one"],
      ["tool", "two"],
    ]);
    expect(outcome).toMatchObject({ overBudgetBy: 0, removed: [], shortened: [] });
  });

  it("shows failures as tool and error, content as is, chunks as JSON, and a sentence for nothing found", async () => {
    const manager = newSession().instance();
    manager.appendToolCalls([call("failed"), call("content"), call("chunks"), call("nothing"), call("both")]);
    await manager.addToolCallResults([
      { id: "failed", name: "search", errorMessage: "no connection", content: "ignored", chunks: chunks(1) },
      { id: "content", name: "search", content: "the answer" },
      { id: "chunks", name: "search", chunks: [{ id: "d", chunkId: "1", text: "Grüße 你好" }] },
      { id: "nothing", name: "search", chunks: [] },
      { id: "both", name: "search", content: "a text", chunks: chunks(2) },
    ]);
    const { messages } = await manager.getHistoryForModelCall(asking("hi"));
    expect(resultOf(messages, "failed")).toBe("Tool call search failed with error: no connection");
    expect(messages.find((message) => (message as ToolMessage).tool_call_id === "failed")).toMatchObject({
      status: "error",
      name: "search",
    });
    expect(resultOf(messages, "content")).toBe("the answer");
    expect(resultOf(messages, "chunks")).toBe('[{"source_number":1,"content_id":"d","content":"Grüße 你好"}]');
    expect(resultOf(messages, "nothing")).toBe("No relevant sources found.");
    expect(resultOf(messages, "both")).toBe("a text");
    expect(manager.references.nextNumber).toBe(2);
  });

  it("accepts the model's own message with its calls, also as a stream chunk, and keeps it unchanged", async () => {
    const manager = newSession().instance();
    const message = new AIMessageChunk({ content: "Let me see.", tool_calls: [{ type: "tool_call", ...call("c") }] });
    const before = JSON.stringify(message);
    manager.addAssistantMessage(message);
    await manager.addToolCallResults([{ id: "c", name: "search", content: "x" }]);
    const { messages } = await manager.getHistoryForModelCall(asking("hi"));
    expect(messages.at(-2)).toMatchObject({ content: message.content, tool_calls: message.tool_calls });
    expect(JSON.stringify(message)).toBe(before);
  });

  it("asks the model to continue if its own message would be last", async () => {
    const manager = newSession().instance();
    manager.addAssistantMessage(ai("Half an answer"));
    const { messages } = await manager.getHistoryForModelCall(asking("hi"));
    expect(messages.slice(-2).map(({ content }) => content)).toEqual(["Half an answer", "Please continue."]);
    expect(validateConversation(messages, { purpose: "model-input" })).toEqual([]);
  });

  it("refuses to call a model or store the turn while a call is waiting for its result", async () => {
    const session = newSession();
    const manager = session.instance();
    manager.appendToolCalls([call("c1"), call("c2")]);
    await manager.addToolCallResults([{ id: "c1", name: "search", content: "x" }]);
    await expect(manager.getHistoryForModelCall(asking("hi"))).rejects.toThrow(StructureError);
    await expect(manager.commit()).rejects.toThrow(StructureError);
    expect(await session.history().getTranscript()).toEqual([]);
    await manager.addToolCallResults([{ id: "c2", name: "search", errorMessage: "cancelled" }]);
    await manager.commit();
    expect(await session.history().getTranscript()).toHaveLength(4);
  });

  it("goes on behind a call whose arguments cannot be read, once its result says so", async () => {
    const session = newSession();
    const manager = session.instance();
    const unreadable = { type: "invalid_tool_call" as const, id: "c1", name: "search", args: '{"query":' };
    const [asked, said] = [{ ...unreadable, error: "Malformed args." }, "No JSON."];
    manager.addAssistantMessage(new AIMessage({ content: "", invalid_tool_calls: [asked] }));
    await manager.addToolCallResults([{ id: "c1", name: "search", errorMessage: said }]);
    const { messages } = await manager.getHistoryForModelCall(asking("hi"));
    expect(validateConversation(messages, { purpose: "model-input" })).toEqual([]);
    expect(resultOf(messages, "c1")).toBe(`Tool call search failed with error: ${said}`);
    manager.addAssistantMessage(ai("Sorry."));
    await manager.commit();
    const stored = await session.history().getTranscript();
    expect(stored.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(stored[1]).toMatchObject({ invalid_tool_calls: [asked] });
  });

  it("refuses results without a waiting call, calls without a unique id, and messages of other roles", async () => {
    const manager = newSession().instance();
    await expect(manager.addToolCallResults([{ id: "x", name: "search", content: "" }])).rejects.toThrow(
      ConfigurationError,
    );
    manager.appendToolCalls([call("c")]);
    await expect(
      manager.addToolCallResults([
        { id: "c", name: "search" },
        { id: "c", name: "search" },
      ]),
    ).rejects.toThrow(ConfigurationError);
    expect(() => manager.appendToolCalls([call("c")])).toThrow(ConfigurationError);
    expect(() => manager.appendToolCalls([call("d"), call("d")])).toThrow(ConfigurationError);
    expect(() => manager.appendToolCalls([])).toThrow(ConfigurationError);
    expect(() => manager.addAssistantMessage(human("me"))).toThrow(ConfigurationError);
    expect(() =>
      manager.addAssistantMessage(new AIMessage({ content: "", tool_calls: [{ name: "search", args: {} }] })),
    ).toThrow(ConfigurationError);
  });

  it("accepts a call id that the model reuses in its next iteration", async () => {
    const manager = newSession().instance();
    for (const content of ["first", "second"]) {
      await search(manager, "call_0", { content });
    }
    const { messages } = await manager.getHistoryForModelCall(asking("hi"));
    expect(messages.slice(-4).map(({ content }) => content)).toEqual(["", "first", "", "second"]);
  });

  it("keeps results after their calls, in the order of the calls, even if they arrive late", async () => {
    const manager = newSession().instance();
    manager.appendToolCalls([call("a")]);
    await search(manager, "b", { content: "B" });
    await manager.addToolCallResults([{ id: "a", name: "search", content: "A" }]);
    const { messages } = await manager.getHistoryForModelCall(asking("hi"));
    expect(messages.slice(-4).map(({ content }) => content)).toEqual(["", "A", "", "B"]);
  });

  it("waits for results whose addition the program did not await", async () => {
    const manager = newSession().instance();
    manager.appendToolCalls([call("c")]);
    void manager.addToolCallResults([{ id: "c", name: "search", content: "SK 1" }]);
    expect((await manager.getHistoryForModelCall(asking("flights?"))).messages.at(-1)!.text).toBe("SK 1");
  });

  it("needs one read and one write per turn, and one more command if sources are numbered", async () => {
    const session = newSession();
    const manager = session.instance();
    const turn = async (withSources: boolean) => {
      session.commands.length = 0;
      for (const id of ["c1", "c2"]) {
        await manager.getHistoryForModelCall(asking("hi"));
        manager.appendToolCalls([call(id)]);
        await manager.addToolCallResults([
          { id, name: "search", ...(withSources && id === "c2" ? { chunks: chunks(2) } : { content: "x" }) },
        ]);
      }
      await manager.getHistoryForModelCall(asking("hi"));
      manager.addAssistantMessage(ai("done"));
      await manager.commit();
      return [...session.commands];
    };
    expect(await turn(false)).toEqual(["readView", "readSide", "append"]);
    expect(await turn(true)).toEqual(["readView", "readSide", "writeSide", "append"]);
  });

  const stored = "renders a user message that the application has stored, and does not store it again";
  it.each(["text", "input_text"])(`${stored}, in a block of type %s`, async (type) => {
    const session = newSession();
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    await session.history().addMessages([new HumanMessage({ content: [{ type, text: "hi" }, image], id: "mine" })]);
    const manager = session.instance();
    const { messages } = await manager.getHistoryForModelCall(asking("hi", { renderedUserMessage: "Rendered" }));
    expect(messages.map(({ content }) => content)).toEqual(["Be kind.", [{ type: "text", text: "Rendered" }, image]]);
    manager.addAssistantMessage(ai("done"));
    await manager.commit();
    const stored = await session.history().getTranscript();
    expect(stored.map(({ id }) => id)[0]).toBe("mine");
    expect(stored).toHaveLength(2);
  });

  it("cuts a result that is too large for any store, and says how much of it is stored", async () => {
    const session = newSession();
    const manager = session.instance();
    await manager.getHistoryForModelCall(asking("hi"));
    await search(manager, "c", { content: "x".repeat(2_000_000) });
    await manager.commit();
    expect(resultOf(await session.history().getTranscript(), "c")).toMatch(
      /\n\[Cut: the first 200000 of 2000000 characters are shown\.\]$/,
    );
  });

  it("leaves the least relevant out of sources that are too large for any store, the cited ones last", async () => {
    const session = newSession();
    const manager = session.instance();
    await manager.getHistoryForModelCall(asking("hi"));
    await search(manager, "c", { chunks: chunks(5, { length: 90_000 }) });
    manager.addAssistantMessage(ai("See [source4]."));
    await manager.commit();
    expect(sourcesIn(await session.history().getTranscript(), "c")).toEqual([1, 4]);
    expect(manager.references.toList()).toHaveLength(5);
  });

  it("continues after Redis was unavailable: the next call numbers the results added meanwhile", async () => {
    const session = newSession();
    const manager = session.instance();
    const { data } = session.store;
    const { readSide, writeSide } = data;
    const away = () => Promise.reject(new Error("away"));
    Object.assign(data, { readSide: away, writeSide: away });
    manager.appendToolCalls([call("c")]);
    await expect(manager.addToolCallResults([{ id: "c", name: "search", chunks: chunks(2) }])).rejects.toThrow("away");
    Object.assign(data, { readSide });
    await expect(manager.getHistoryForModelCall(asking("hi"))).rejects.toThrow("away");
    Object.assign(data, { writeSide });
    expect(sourcesIn((await manager.getHistoryForModelCall(asking("hi"))).messages, "c")).toEqual([1, 2]);
  });

  it("throws a typed error if other processes take every source number first", async () => {
    const session = newSession();
    session.store.data.writeSide = async () => false;
    const manager = session.instance();
    manager.appendToolCalls([call("c")]);
    await expect(manager.addToolCallResults([{ id: "c", name: "search", chunks: chunks(1) }])).rejects.toThrow(
      ConflictError,
    );
  });

  it("reads a session whose side data is damaged", async () => {
    const session = newSession();
    const manager = session.instance();
    await manager.addUploadedContent([{ id: "u", name: "a.txt", mimeType: "text/plain", text: "upload" }]);
    await manager.getHistoryForModelCall(asking("hi"));
    await search(manager, "c", { chunks: chunks(2) });
    await manager.commit();
    const fields = await session.store.data.readSide({ id: "s" }, "");
    for (const broken of ["{", "null", "{}", "[1]", "-1"]) {
      await session.store.data.writeSide(
        { id: "s" },
        {
          set: Object.fromEntries(Object.keys(fields).map((name) => [name, broken])),
        },
      );
      const other = session.instance();
      await search(other, "d", { chunks: chunks(1) });
      expect(sourcesIn((await other.getHistoryForModelCall(asking("hi"))).messages, "d")).toEqual([1]);
      expect(other.references.toList()).toHaveLength(1);
    }
  });

  it("refuses to add to a turn while it is being stored", async () => {
    const manager = newSession().instance();
    await manager.getHistoryForModelCall(asking("hi"));
    manager.addAssistantMessage(ai("done"));
    const storing = manager.commit();
    expect(() => manager.addAssistantMessage(ai("next"))).toThrow(ConfigurationError);
    await Promise.all([storing, manager.commit()]);
    manager.addAssistantMessage(ai("next"));
    await expect(manager.commit()).rejects.toMatchObject({ option: "originalUserMessage" });
  });

  it("keeps stored system messages and summaries at the front, and does not repeat the system prompt", async () => {
    const session = newSession();
    await session.history().addMessages([human("one"), system("Be kind."), system("Be brief."), ai("two")]);
    const { messages } = await session.instance().getHistoryForModelCall(asking("hi"));
    expect(messages.map(({ content }) => content)).toEqual(["Be kind.", "Be brief.", "one", "two", "hi"]);
  });

  it("shows the user what was said, without calls, results and instructions, and cleaned if asked", async () => {
    const session = newSession();
    const manager = session.instance();
    for (const text of ["one", "two"]) {
      await manager.getHistoryForModelCall(asking(text, { renderedUserMessage: `Rendered ${text}` }));
      manager.addAssistantMessage(
        new AIMessage({ content: "Let me see.", tool_calls: [{ type: "tool_call", ...call(text) }] }),
      );
      await manager.addToolCallResults([{ id: text, name: "search", content: "x" }]);
      manager.addAssistantMessage(ai(`${text} is done. <follow-up>`));
      if (text === "one") {
        await manager.commit();
      }
    }
    const shown = await manager.getUserVisibleHistory({ removeFromText: (text) => text.replace(" <follow-up>", "") });
    expect(shown.map((message) => [message.getType(), message.content])).toEqual([
      ["human", "one"],
      ["ai", "Let me see."],
      ["ai", "one is done."],
      ["human", "two"],
      ["ai", "Let me see."],
      ["ai", "two is done."],
    ]);
    expect((await manager.getUserVisibleHistory({ rounds: 1 })).map(({ content }) => content)[0]).toBe("one");
  });
});
