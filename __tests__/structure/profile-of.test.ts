import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { ChatDeepSeek } from "@langchain/deepseek";
import { AzureChatOpenAI, ChatOpenAI } from "@langchain/openai";
import { createAgent, createMiddleware } from "langchain";
import { profileOf, repairConversation, type RepairOptions, toModel } from "../../src/entries/structure.js";
import { captureWire } from "../../testing/wire/capture-wire.js";

const apiKey = "none";
const tool = {
  type: "function",
  function: { name: "lookup", parameters: { type: "object", properties: {} } },
} as const;
const chat = () => new ChatOpenAI({ model: "gpt-4o", apiKey });
const responses = () => new ChatOpenAI({ model: "gpt-5.5", apiKey, useResponsesApi: true });
const claude = () => new ChatAnthropic({ model: "claude-opus-4-8", apiKey });

const wrapping = createMiddleware({ name: "Wrapping", wrapModelCall: (request, handler) => handler(request) });

class OurChat extends ChatAnthropic {}
class ChatUnknown extends FakeListChatModel {}

describe("the profile of a model", () => {
  it.each<[string, () => unknown, string]>([
    ["ChatOpenAI", chat, "openai-chat"],
    ["ChatOpenAI on Responses", responses, "openai-responses"],
    ["a name that prefers Responses", () => new ChatOpenAI({ model: "gpt-5.5-pro", apiKey }), "openai-responses"],
    ["a summary of the reasoning", () => chat().withConfig({ reasoning: { summary: "auto" } }), "openai-responses"],
    ["a tool of OpenAI's own", () => chat().bindTools([{ type: "web_search" } as never]), "openai-responses"],
    [
      "AzureChatOpenAI",
      () =>
        new AzureChatOpenAI({
          model: "gpt-4o",
          azureOpenAIApiKey: apiKey,
          azureOpenAIApiInstanceName: "i",
          azureOpenAIApiDeploymentName: "d",
          azureOpenAIApiVersion: "v",
        }),
      "openai-chat",
    ],
    ["ChatAnthropic", claude, "anthropic"],
    ["a subclass", () => new OurChat({ model: "claude-opus-4-8", apiKey }), "anthropic"],
    ["ChatDeepSeek", () => new ChatDeepSeek({ model: "deepseek-chat", apiKey }), "deepseek"],
    ["bound tools", () => claude().bindTools([tool]), "anthropic"],
    ["retries around bound tools", () => claude().bindTools([tool]).withRetry(), "anthropic"],
    ["structured output", () => chat().withStructuredOutput({ type: "object", properties: {} }), "openai-chat"],
    ["a prompt before a model", () => ChatPromptTemplate.fromTemplate("{q}").pipe(claude()), "anthropic"],
    ["fallbacks of one adapter", () => claude().withFallbacks([claude()]), "anthropic"],
    ["fallbacks of another adapter", () => claude().withFallbacks([chat()]), "neutral"],
    ["an agent", () => createAgent({ model: claude(), tools: [] }), "anthropic"],
    [
      "an agent whose middleware wraps its calls",
      () => createAgent({ model: claude(), middleware: [wrapping] }),
      "neutral",
    ],
    ["a function", () => RunnableLambda.from(() => new AIMessage("a")), "neutral"],
    ["another class", () => new ChatUnknown({ responses: [] }), "neutral"],
    ["nothing", () => undefined, "neutral"],
  ])("of %s", async (_, model, name) => {
    const { profile, guessedFor } = await profileOf(model());
    expect(profile.name).toBe(name);
    expect(guessedFor === undefined).toBe(name !== "neutral");
  });

  it.each([
    ...["ChatOpenAI", "AzureChatOpenAI", "ChatOpenAIResponses", "ChatOpenAICompletions", "ChatDeepSeek"],
    ...["ChatAnthropic", "ChatAnthropicMessages", "ChatGoogle", "BaseChatGoogle", "ChatGoogleGenerativeAI"],
    ...["ChatMistralAI", "ChatBedrockConverse"],
  ])("is not that of LangChain's %s for a class of this name", async (name) => {
    const own = class extends FakeListChatModel {
      static override lc_name = () => name;
    };
    Object.defineProperty(own, "name", { value: name });
    // ChatVertexAI descends from such a class, a ChatGoogle of another package.
    class Descendant extends own {}
    for (const Class of [own, Descendant]) {
      const { profile, guessedFor } = await profileOf(new Class({ responses: [] }));
      expect([profile.name, guessedFor]).toEqual(["neutral", Class.name]);
    }
  });

  it("follows the config of a configurable model", async () => {
    // As `initChatModel` makes it; its own loads packages by `import()`, which Jest does not have.
    const model = {
      _getModelInstance: async (config?: { configurable?: { modelProvider?: string } }) =>
        config?.configurable?.modelProvider === "anthropic" ? claude().bindTools([tool]) : chat(),
    };
    const configurable = { model: "claude-opus-4-8", modelProvider: "anthropic" };
    expect((await profileOf(model)).profile.name).toBe("openai-chat");
    expect(await profileOf(model, { configurable })).toMatchObject({
      profile: { name: "anthropic" },
      model: "claude-opus-4-8",
      hasTools: true,
    });
    const failing = { _getModelInstance: async () => Promise.reject(new Error("no such package")) };
    expect((await profileOf(failing)).profile.name).toBe("neutral");
  });

  it("tells name, tools and storage", async () => {
    expect(await profileOf(claude())).toMatchObject({ model: "claude-opus-4-8", hasTools: false });
    expect(await profileOf(claude().bindTools([tool]))).toMatchObject({ hasTools: true });
    expect(await profileOf(chat().bindTools([tool]))).toMatchObject({ hasTools: true });
    expect(await profileOf(responses())).toMatchObject({ storesReasoning: true });
    expect(await profileOf(new ChatOpenAI({ model: "gpt-5.5", apiKey, zdrEnabled: true }))).toMatchObject({
      storesReasoning: false,
    });
    expect(await profileOf(new ChatOpenAI({ model: "gpt-5.5", apiKey, modelKwargs: { store: false } }))).toMatchObject({
      storesReasoning: false,
    });
    const other = new ChatAnthropic({ model: "claude-haiku-5-5", apiKey });
    expect((await profileOf(claude().withFallbacks([other]))).model).toBeUndefined();
  });
});

describe("toModel", () => {
  const thought = { type: "thinking", thinking: "hm", signature: "EqQB" };
  const answer = new AIMessage({
    content: [thought, { type: "text", text: "Hello" }],
    response_metadata: { model_provider: "anthropic" },
  });
  const messages = [new HumanMessage("Hi"), answer, new HumanMessage("Bye")];

  it("leaves an answer of the same provider as it is, and makes it readable for another", async () => {
    const same = await toModel(messages, { model: claude() });
    expect(same.messages).toEqual(messages);
    expect(same.messages[1]).toBe(answer);
    expect(same).toMatchObject({ repairs: [], thinkingDropped: 0, prefix: undefined });
    const other = await toModel(messages, { model: chat() });
    expect(other.messages[1]!.content).toBe("Hello");
    expect(other.repairs.map(({ rule }) => rule)).toEqual(["S36"]);
  });

  it("leaves out a thought whose prefix is not known, for a model that binds its thoughts", async () => {
    const model = new ChatAnthropic({ model: "claude-sonnet-5-5", apiKey });
    const { messages: sent, thinkingDropped, prefix } = await toModel(messages, { model });
    expect(thinkingDropped).toBe(1);
    expect(sent[1]!.content).toBe("Hello");
    expect(prefix).toBeDefined();
  });

  it("keeps, for an unknown model, the answers of the turn that goes on as they are", async () => {
    const model = new ChatUnknown({ responses: [] });
    const { messages: sent } = await toModel([...messages, answer, new HumanMessage("And?")], { model });
    expect(sent[1]!.content).toBe("Hello");
    const call = new AIMessage({ content: [thought as never], tool_calls: [{ id: "c", name: "lookup", args: {} }] });
    const going = await toModel([...messages, call], { model, repair: { leadingMessages: "fill" } });
    expect(going.messages[3]!.content).toEqual([thought]);
  });

  describe("for a model out of sight", () => {
    const hidden = RunnableLambda.from(() => new AIMessage("a"));
    const call = { type: "tool_call" as const, id: "c", name: "lookup", args: { q: "x" } };
    const called = new AIMessage({ content: "I look.", tool_calls: [call] });
    const asked = [
      new HumanMessage("Hi"),
      called,
      new ToolMessage({ content: "found", name: "lookup", tool_call_id: "c" }),
      new AIMessage({ content: "Found.", response_metadata: { model_provider: "google" } }),
      new HumanMessage("Bye"),
    ];
    const text = { type: "text", text: "I look." };

    it("gives calls a form that ChatGoogle reads behind its answer, with no repair, and leaves the rest", async () => {
      const { messages: sent, repairs } = await toModel(asked, { model: hidden });
      const { content, tool_calls, response_metadata } = sent[1] as AIMessage;
      const named = { ...call, thoughtSignature: "skip_thought_signature_validator" };
      expect({ content, response_metadata }).toEqual({
        content: [text, named],
        response_metadata: { output_version: "v1" },
      });
      expect(tool_calls).toEqual([call]);
      expect(repairs).toEqual([]);
      expect(sent.filter((message, index) => message !== asked[index])).toEqual([sent[1]]);
      expect((await toModel(sent, { model: hidden })).messages).toEqual(sent);
    });

    it("gives a ChatGoogle that is named blocks of its own, which each version of it reads", () => {
      const google: RepairOptions = { profile: "google", purpose: "model-input" };
      const { messages: sent } = repairConversation(asked, google);
      const functionCall = { id: "c", name: "lookup", args: { q: "x" } };
      const named = { type: "functionCall", functionCall, thoughtSignature: "skip_thought_signature_validator" };
      expect(sent[1]).toMatchObject({ content: [text, named], tool_calls: [call], response_metadata: {} });
      expect(repairConversation(sent, google).messages).toEqual(sent);
    });

    it("is a plain answer for a model in sight", async () => {
      const { messages: sent } = await toModel(asked, { model: hidden });
      for (const model of [claude(), chat(), responses()]) {
        const [given, plain] = await Promise.all([toModel(sent, { model }), toModel(asked, { model })]);
        const bodies = [given, plain].map(async ({ messages: list }) => captureWire(model as never, list));
        const [ofGiven, ofPlain] = await Promise.all(bodies);
        expect(ofGiven!.body).toEqual(ofPlain!.body);
      }
    });
  });
});
