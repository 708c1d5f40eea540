import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { repairConversation, validateConversation, type Adapter } from "../../src/entries/structure.js";
import { captureWire, type WireModel } from "../../testing/wire/capture-wire.js";
import { checkWire } from "../../testing/wire/check-wire.js";

const models: readonly (readonly [Adapter, unknown])[] = [
  ["openai-chat", new ChatOpenAI({ model: "gpt-4o", apiKey: "none" })],
  ["openai-responses", new ChatOpenAI({ model: "gpt-5.5", apiKey: "none", useResponsesApi: true })],
  ["anthropic", new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "none" })],
  ["google-genai", new ChatGoogleGenerativeAI({ model: "gemini-2.5-pro", apiKey: "none" })],
];

const refusal = "I cannot help with that.";
const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "refusal", refusal }] };
const metadata = { model_provider: "openai" };
const answers: readonly (readonly [string, AIMessage])[] = [
  ["Completions", new AIMessage({ content: "", additional_kwargs: { refusal }, response_metadata: metadata })],
  [
    "Responses",
    new AIMessage({
      content: [],
      additional_kwargs: { refusal },
      response_metadata: { ...metadata, output: [item] },
    }),
  ],
];

function repaired(profile: Adapter, messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const criteria = { profile, purpose: "model-input" } as const;
  const { messages: result } = repairConversation(messages, criteria);
  expect(validateConversation(result, criteria).filter(({ severity }) => severity === "error")).toEqual([]);
  expect(repairConversation(result, criteria)).toEqual({ messages: result, repairs: [] });
  return result;
}

async function sent(profile: Adapter, model: unknown, messages: readonly BaseMessage[]): Promise<string> {
  const { kind, body, model: name } = await captureWire(model as WireModel, repaired(profile, messages));
  expect(checkWire(kind, body, { model: name })).toEqual([]);
  return JSON.stringify(body);
}

describe.each(answers)("a refusal of OpenAI's %s", (_, answer) => {
  const messages = [new HumanMessage("How?"), answer, new HumanMessage("Why?")];

  it.each(models)("goes to %s with its words", async (profile, model) => {
    expect(await sent(profile, model, messages)).toContain(refusal);
  });

  it("has its words for ChatGoogle too", () => {
    expect(repaired("google", messages)[1]?.content).toBe(refusal);
  });
});

it("gives a question to Claude words where ChatAnthropic leaves all its blocks out", async () => {
  const block = { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true };
  const question = new HumanMessage({ content: [block] as never });
  expect(await sent(...models[2]!, [question])).toContain("(empty message)");
});
