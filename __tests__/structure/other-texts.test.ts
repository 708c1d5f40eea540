import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import { HumanMessage, SystemMessage, ToolMessage, AIMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { type BuiltInProfile, repairConversation } from "../../src/entries/structure.js";
import { captureWire, type WireModel } from "../../testing/wire/capture-wire.js";

const apiKey = "none";
const credentials = { accessKeyId: apiKey, secretAccessKey: apiKey };
const models: Readonly<Record<string, { readonly profile: BuiltInProfile; readonly model: unknown }>> = {
  chat: { profile: "openai-chat", model: new ChatOpenAI({ model: "gpt-4o", apiKey }) },
  responses: {
    profile: "openai-responses",
    model: new ChatOpenAI({ model: "gpt-5.5", apiKey, useResponsesApi: true }),
  },
  anthropic: { profile: "anthropic", model: new ChatAnthropic({ model: "claude-opus-4-8", apiKey }) },
  genai: { profile: "google-genai", model: new ChatGoogleGenerativeAI({ model: "gemini-3-pro-preview", apiKey }) },
  bedrock: {
    profile: "bedrock",
    model: new ChatBedrockConverse({ model: "anthropic.claude-opus-4-8-v1:0", region: "us-east-1", credentials }),
  },
};

const question = "Where is Oslo?";
const types = ["text", "input_text", "output_text", "text-plain"];
const asked = (type: string, response_metadata = {}) =>
  new HumanMessage({ content: [{ type, text: question }], response_metadata } as never);

function requested(profile: BuiltInProfile, messages: BaseMessage[]): BaseMessage[] {
  return [...repairConversation(messages, { profile, purpose: "model-input", model: "" }).messages];
}

describe.each(Object.entries(models))("a request of %s", (_, { profile, model }) => {
  it.each(types)("has the question that stands in a block of type %s", async (type) => {
    const { body } = await captureWire(model as WireModel, requested(profile, [asked(type)]));
    expect(JSON.stringify(body).split(question)).toHaveLength(2);
  });

  it.each(["text", "text-plain"])("has that of standard content of type %s", async (type) => {
    const message = asked(type, { output_version: "v1" });
    const { body } = await captureWire(model as WireModel, requested(profile, [message]));
    expect(JSON.stringify(body).split(question)).toHaveLength(2);
  });
});

describe.each(["google", "mistral", "deepseek", "strict-template"] as const)(
  "a request for the profile %s",
  (profile) => {
    it.each(types)("has the question that stands in a block of type %s as text", (type) => {
      const [message] = requested(profile, [asked(type)]);
      expect(message!.text).toBe(question);
    });
  },
);

describe("a request whose provider takes no such text from a role", () => {
  it.each(["input_text", "text-plain"])("has the text of its blocks of type %s as text", (type) => {
    const content = [{ type, text: "Oslo is in Norway." }] as never;
    const call = { id: "call12345", name: "lookup", args: {} };
    const messages = [
      new SystemMessage({ content }),
      new HumanMessage(question),
      new AIMessage({ content: "", tool_calls: [call] }),
      new ToolMessage({ content, tool_call_id: call.id, name: "lookup" }),
    ];
    const [system, , , result] = requested("mistral", messages);
    expect([system!.text, result!.text]).toEqual(["Oslo is in Norway.", "Oslo is in Norway."]);
  });

  it("has no thought as text", () => {
    const thought = { type: "thinking", thinking: "Hm", text: "Hm" };
    const message = new HumanMessage({ content: [thought, { type: "text", text: question }] as never });
    expect(requested("mistral", [message])[0]!.text).toBe(question);
  });
});

describe("a request of a model whose class is not known", () => {
  const lookup = { id: "c1", name: "lookup", args: { q: "Oslo" } };
  const answer = new AIMessage({
    content: [
      { type: "text", text: "I " },
      { type: "text", text: "look." },
    ],
    tool_calls: [lookup],
    response_metadata: { model_provider: "anthropic" },
  });
  const parts = [
    { type: "text", text: question },
    { type: "text", text: "And Bergen?" },
  ];
  const result = new ToolMessage({ content: [{ type: "text", text: "north" }], tool_call_id: "c1", name: "lookup" });
  const next = new HumanMessage("And?");

  it("has texts alone as one text, beside which every class reads the calls", () => {
    const sent = requested("neutral", [
      new HumanMessage({ content: parts }),
      answer,
      result,
      new AIMessage("Found."),
      next,
    ]);
    expect(sent.map(({ content }) => content)).toEqual([
      `${question}\nAnd Bergen?`,
      "I look.",
      "north",
      "Found.",
      "And?",
    ]);
    expect((sent[1] as AIMessage).tool_calls).toMatchObject([lookup]);
  });

  it("keeps the blocks of a message that has a picture or a mark of a cache", () => {
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    for (const content of [
      [parts[0]!, image],
      [parts[0]!, { ...parts[1]!, cache_control: { type: "ephemeral" } }],
    ]) {
      expect(requested("neutral", [new HumanMessage({ content })])[0]!.content).toEqual(content);
    }
  });
});
