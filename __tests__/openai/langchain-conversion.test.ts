import {
  AIMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { InMemoryChatMessageHistory } from "@langchain/core/chat_history";
import { convertMessagesToCompletionsMessageParams } from "@langchain/openai";
import { type RecordError, ConfigurationError } from "../../src/base/errors.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import type { OpenAIMessage } from "../../src/formats/openai/message.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ai, human } from "../support/messages.js";

const one = (message: BaseMessage): OpenAIMessage => MessageHistory.fromMessages([message]).at(0)!;
const back = (message: OpenAIMessage): BaseMessage => new MessageHistory([message]).toMessages()[0]!;
const call = (id: string, text: string) => ({
  id,
  type: "function" as const,
  function: { name: "f", arguments: text },
});

describe("LangChain messages in OpenAI's format", () => {
  it("keep id, usage, metadata, artifact and status for the way back, and do not send them to models", () => {
    const answer = new AIMessage({
      id: "run-1",
      content: "Hi",
      usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      response_metadata: { model_name: "m" },
    });
    const result = new ToolMessage({
      id: "t",
      content: "42",
      tool_call_id: "c",
      artifact: { at: new Date(0), big: 10n },
      status: "error",
    });
    const history = MessageHistory.fromMessages([answer, result]);
    expect(history.toOpenAIFormat()).toEqual([
      { role: "assistant", content: "Hi" },
      { role: "tool", content: "42", tool_call_id: "c" },
    ]);
    const [first, second] = MessageHistory.fromJSON(JSON.stringify(history)).toMessages() as [AIMessage, ToolMessage];
    expect([first.id, first.usage_metadata, first.response_metadata]).toEqual([
      answer.id,
      answer.usage_metadata,
      answer.response_metadata,
    ]);
    expect([second.id, second.status, second.artifact]).toEqual(["t", "error", { at: new Date(0), big: 10n }]);
  });

  it("translate LangChain's own content blocks of both versions", () => {
    const content = [
      { type: "text", text: "Look:" },
      { type: "image", url: "https://example.com/a.png" },
      { type: "image", data: new Uint8Array([1, 2, 3]), mimeType: "image/png" },
      { type: "image", source_type: "base64", data: "AQID", mime_type: "image/gif" },
      { type: "image", fileId: "file-1" },
      { type: "audio", data: "AQID", mimeType: "audio/mpeg" },
      { type: "audio", source_type: "url", url: "data:audio/wav;base64,AQID" },
      { type: "file", data: "AQID", mimeType: "application/pdf", metadata: { filename: "menu.pdf" } },
      { type: "file", source_type: "id", id: "file-2" },
      { type: "file", source_type: "text", text: "plain" },
      { type: "image_url", image_url: "https://example.com/b.png" },
      { type: "text-plain", text: "also plain" },
      { type: "input_text", text: "asked" },
      { type: "output_text", text: "said", annotations: [] },
    ];
    expect(one(new HumanMessage({ content })).content).toEqual([
      { type: "text", text: "Look:" },
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
      { type: "image_url", image_url: { url: "data:image/gif;base64,AQID" } },
      { type: "image_file", image_file: { file_id: "file-1" } },
      { type: "input_audio", input_audio: { data: "AQID", format: "mp3" } },
      { type: "input_audio", input_audio: { data: "AQID", format: "wav" } },
      { type: "file", file: { file_data: "data:application/pdf;base64,AQID", filename: "menu.pdf" } },
      { type: "file", file: { file_id: "file-2" } },
      { type: "text", text: "plain" },
      { type: "image_url", image_url: { url: "https://example.com/b.png" } },
      { type: "text", text: "also plain" },
      { type: "text", text: "asked" },
      { type: "text", text: "said" },
    ]);
    expect(back(one(new HumanMessage({ content }))).content).toEqual(content);
  });

  it("keep a call of a tool that takes free text, and its result, as such", () => {
    const args = { input: "SELECT 1" };
    // As ChatOpenAI gives it: `call_id` is the item's id.
    const freeText = { type: "tool_call" as const, id: "c", name: "sql", args, isCustomTool: true, call_id: "ctc_1" };
    const messages = [
      new AIMessage({ content: "", tool_calls: [freeText] }),
      new ToolMessage({ content: "1", tool_call_id: "c", name: "sql" }),
    ];
    const history = MessageHistory.fromMessages(messages);
    expect(history.toOpenAIFormat()[0]).toEqual({
      role: "assistant",
      tool_calls: [{ id: "c", type: "custom", custom: { name: "sql", input: "SELECT 1" } }],
    });
    expect(history.toMessages().map((message) => message.toDict())).toEqual(
      messages.map((message) => message.toDict()),
    );
  });

  it("translate media in the forms of Anthropic and Google", () => {
    const content = [
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AQID" } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "plain" } },
      { type: "inlineData", inlineData: { mimeType: "audio/wav", data: "AQID" } },
      { type: "media", mimeType: "application/pdf", data: "AQID" },
    ];
    const message = one(new HumanMessage({ content }));
    expect(message.content).toEqual([
      { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
      { type: "text", text: "plain" },
      { type: "input_audio", input_audio: { data: "AQID", format: "wav" } },
      { type: "file", file: { file_data: "data:application/pdf;base64,AQID", filename: "file" } },
    ]);
    expect(back(message).content).toEqual(content);
  });

  it("keep blocks that the format has no part for (thinking, video, audio by URL) for the way back", () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: "Hi" },
      { type: "video", url: "https://example.com/v.mp4" },
      { type: "video", data: "AA", mimeType: "video/mp4" },
      { type: "audio", url: "https://example.com/a.wav" },
      { type: "audio", data: "AA", mimeType: "audio/flac" },
    ];
    const message = one(new AIMessage({ content }));
    expect(message.content).toEqual([{ type: "text", text: "Hi" }]);
    expect(back(message).content).toEqual(content);
  });

  it("keep calls with invalid arguments, and the order of calls", () => {
    const given: OpenAIMessage = {
      role: "assistant",
      tool_calls: [call("1", "{broken"), call("2", '{ "a" : 1 }'), call("3", "[1]"), call("4", "")],
    };
    const message = back(given) as AIMessage;
    expect(message.tool_calls?.map(({ id, args }) => [id, args])).toEqual([
      ["2", { a: 1 }],
      ["4", {}],
    ]);
    expect(message.invalid_tool_calls?.map(({ id, args }) => [id, args])).toEqual([
      ["1", "{broken"],
      ["3", "[1]"],
    ]);
    expect(one(message)).toEqual(given);
  });

  it("keep metadata, timestamps and unknown fields under one key of additional_kwargs", () => {
    const given = {
      role: "user",
      content: "Hi",
      weight: 1,
      metadata: { page: 1 },
      timestamp: "2026-01-31T12:00:00Z",
    } as OpenAIMessage;
    const message = back(given);
    expect(message.additional_kwargs).toEqual({
      lcmem_openai: { weight: 1, metadata: { page: 1 }, timestamp: "2026-01-31T12:00:00Z" },
    });
    expect(one(message)).toEqual(given);
  });

  it("take precedence over kept fields if edited since, and keep the fields that still agree", () => {
    const given: OpenAIMessage = {
      role: "assistant",
      content: null,
      tool_calls: [call("1", '{ "a" : 1 }')],
      metadata: { page: 1 },
    };
    const message = back(given) as AIMessage;
    message.tool_calls![0]!.args = { a: 2 };
    expect(one(message)).toEqual({ ...given, tool_calls: [call("1", '{"a":2}')] });

    const thinking = one(
      new AIMessage({
        id: "x",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "old" },
        ],
      }),
    );
    const edited = back({ ...thinking, content: [{ type: "text", text: "new" }] });
    expect([edited.content, edited.id]).toEqual([[{ type: "text", text: "new" }], "x"]);
  });

  it.each<[string, unknown]>([
    ["a type that is not the role's", { type: "human" }],
    ["calls that are not the message's", { tool_calls: [{ type: "tool_call", id: "evil", name: "rm", args: {} }] }],
    ["fields of the wrong form", { tool_calls: "x", usage_metadata: "y", additional_kwargs: "z" }],
  ])("ignore kept fields that contradict the message: %s", (_, langchain) => {
    const message = back({ role: "assistant", content: "Hi", langchain: langchain as Record<string, unknown> });
    expect([message.getType(), message.content, (message as AIMessage).tool_calls]).toEqual(["ai", "Hi", []]);
  });

  it("are not changed by the conversion", () => {
    const message = new AIMessage({
      content: [{ type: "text", text: "a" }],
      tool_calls: [{ id: "c", name: "f", args: {} }],
    });
    const before = JSON.stringify(message);
    const history = MessageHistory.fromMessages([message]);
    (history.toMessages()[0]!.content as { text: string }[])[0]!.text = "b";
    expect([JSON.stringify(message), history.at(0)?.content]).toEqual([before, [{ type: "text", text: "a" }]]);
  });

  it("are refused with their position if the format has no role for them", () => {
    for (const odd of [
      new RemoveMessage({ id: "1" }),
      new FunctionMessage({ name: "f", content: "" }),
      new ChatMessage("x", "critic"),
      {} as BaseMessage,
    ]) {
      expect(() => MessageHistory.fromMessages([human("Hi"), odd])).toThrow(
        expect.objectContaining({ code: "unsupported_message", position: 1 }) as RecordError,
      );
    }
    expect(() => MessageHistory.fromMessages("x" as never)).toThrow(ConfigurationError);
  });

  it("are sent the same way by LangChain's own model class", () => {
    const history = new MessageHistory();
    history.addMessage(
      "user",
      [
        { type: "text", text: "?" },
        { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      ],
      { name: "ema" },
    );
    history.addToolCall([call("1", '{"a":1}'), call("2", '{"a":2}')], { content: "Looking" });
    history.addToolResponse("1", "x", { name: "f" });
    history.addToolResponse("2", "y");
    history.addMessage("assistant", "Done.", { metadata: { secret: true } });
    expect(convertMessagesToCompletionsMessageParams({ messages: history.toMessages() })).toEqual(
      history.toOpenAIFormat(),
    );
  });
});

describe("a LangChain history", () => {
  it("is loaded, and receives only what was added since, once", async () => {
    const stored = new InMemoryChatMessageHistory([human("Hi"), ai("Hello", { calls: ["c"] })]);
    const history = await MessageHistory.load(stored);
    await history.save(stored);
    expect(await stored.getMessages()).toHaveLength(2);
    history.addToolResponse("c", "42");
    await history.save(stored);
    await history.save(stored);
    expect((await stored.getMessages()).map((message) => message.getType())).toEqual(["human", "ai", "tool"]);
    const other = new InMemoryChatMessageHistory();
    await history.save(other);
    expect(MessageHistory.fromMessages(await other.getMessages()).toOpenAIFormat()).toEqual(history.toOpenAIFormat());
  });

  it("receives what was added after clear, and nothing twice", async () => {
    const stored = new InMemoryChatMessageHistory([human("Hi")]);
    const history = await MessageHistory.load(stored);
    history.clear();
    history.addMessage("user", "again");
    await history.save(stored);
    expect((await stored.getMessages()).map(({ content }) => content)).toEqual(["Hi", "again"]);
  });

  it("holds a message once if saves are not awaited, also where one fails", async () => {
    const stored = new InMemoryChatMessageHistory();
    let calls = 0;
    const failing = {
      getMessages: () => stored.getMessages(),
      addMessages: async (messages: BaseMessage[]) => {
        if ((calls += 1) === 2) {
          throw new Error("connection lost");
        }
        await stored.addMessages(messages);
      },
    };
    const history = new MessageHistory();
    const saves = ["one", "two", "three"].map((text) => {
      history.addMessage("user", text);
      return history.save(failing);
    });
    const outcomes = await Promise.allSettled(saves);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await stored.getMessages()).map(({ content }) => content)).toEqual(["one", "two", "three"]);
  });

  it("holds a message once if a save is repeated after its outcome was lost", async () => {
    const stored = new RedisChatMessageHistory({ sessionId: "s", store: new InMemorySessionStore() });
    const flaky = {
      getMessages: () => stored.getMessages(),
      addMessages: async (messages: BaseMessage[]) => {
        await stored.addMessages(messages);
        throw new Error("connection lost");
      },
    };
    const history = new MessageHistory();
    history.addMessage("user", "Hi", { metadata: { page: 1 } });
    await expect(history.save(flaky)).rejects.toThrow("connection lost");
    await expect(history.save(flaky)).rejects.toThrow("connection lost");
    await history.save(stored);
    const loaded = await MessageHistory.load(stored);
    expect([loaded.length, loaded.at(0)]).toEqual([
      1,
      { ...history.at(0), langchain: { id: expect.any(String) as string } },
    ]);
  });

  it("is recognized by its methods", async () => {
    await expect(MessageHistory.load({} as never)).rejects.toMatchObject({ option: "history" });
    await expect(new MessageHistory().save(undefined as never)).rejects.toMatchObject({ option: "history" });
  });
});
