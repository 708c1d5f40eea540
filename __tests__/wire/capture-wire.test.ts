import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { captureWire, type WireModel } from "../../testing/wire/capture-wire.js";
import { checkWire } from "../../testing/wire/check-wire.js";

// ChatMistralAI and ChatGoogle, whose parts are no CommonJS, are tried by the matrix.
const credentials = { accessKeyId: "none", secretAccessKey: "none" };
const models: readonly [string, string, WireModel][] = [
  ["openai-chat", "gpt-4o", new ChatOpenAI({ model: "gpt-4o", apiKey: "none" })],
  ["openai-responses", "gpt-5.5", new ChatOpenAI({ model: "gpt-5.5", apiKey: "none", useResponsesApi: true })],
  ["openai-chat", "deepseek-chat", new ChatDeepSeek({ model: "deepseek-chat", apiKey: "none" })],
  ["anthropic", "claude-sonnet-5-5", new ChatAnthropic({ model: "claude-sonnet-5-5", apiKey: "none" })],
  ["gemini", "gemini-2.5-pro", new ChatGoogleGenerativeAI({ model: "gemini-2.5-pro", apiKey: "none" })],
  [
    "bedrock",
    "amazon.nova-pro-v1:0",
    new ChatBedrockConverse({ model: "amazon.nova-pro-v1:0", region: "us-east-1", credentials }),
  ],
] as unknown as [string, string, WireModel][];
const tool = {
  type: "function",
  function: { name: "lookup", description: "d", parameters: { type: "object", properties: {} } },
};
const question = new HumanMessage("Hi, there");
const step = [
  question,
  new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "lookup", args: {} }] }),
  new ToolMessage({ content: "4", name: "lookup", tool_call_id: "call_1" }),
];

describe.each(models)("a request of %s to %s", (kind, name, model) => {
  it.each([false, true])("is caught whole, streaming: %s", async (streaming) => {
    const plain = await captureWire(model, [question], { streaming });
    expect({ kind: plain.kind, model: plain.model }).toEqual({ kind, model: name });
    expect(JSON.stringify(plain.body)).toContain("Hi, there");
    const { body } = await captureWire(model, step, { streaming, tools: [tool] });
    expect(JSON.stringify(body)).toContain("lookup");
    expect(checkWire(plain.kind, body, { model: name })).toEqual([]);
  });
});

it("catches the request of a model that has sent one before, and of several at a time", async () => {
  const model = models[3]![2];
  const texts = ["one", "two", "three"];
  const caught = await Promise.all(texts.map((text) => captureWire(model, [new HumanMessage(text)])));
  expect(caught.map(({ body }) => (body["messages"] as [{ content: string }])[0].content)).toEqual(texts);
});

it("leaves fetch as it was", async () => {
  const before = globalThis.fetch;
  await captureWire(models[0]![2], [question]);
  expect(globalThis.fetch).toBe(before);
});

it("throws what the model throws before it sends", async () => {
  const thinking = new AIMessage({ content: [{ type: "reasoning", reasoning: "x" }] });
  await expect(captureWire(models[4]![2], [question, thinking, question])).rejects.toThrow("Unknown content type");
});

it("says if nothing was sent", async () => {
  const silent = { invoke: async () => undefined, stream: async () => [] as never };
  await expect(captureWire(silent, [question])).rejects.toThrow("The model sent no request of a known form.");
});
