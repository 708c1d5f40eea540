import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import {
  type BuiltInProfile,
  builtInProfiles,
  repairConversation,
  validateConversation,
} from "../../src/entries/structure.js";
import { captureWire, type WireModel } from "../../testing/wire/capture-wire.js";
import { checkWire } from "../../testing/wire/check-wire.js";
import { ai, human } from "../support/messages.js";

const credentials = { accessKeyId: "none", secretAccessKey: "none" };
const models = {
  anthropic: new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "none" }),
  "google-genai": new ChatGoogleGenerativeAI({ model: "gemini-2.5-pro", apiKey: "none" }),
  bedrock: new ChatBedrockConverse({ model: "amazon.nova-pro-v1:0", region: "us-east-1", credentials }),
  "openai-chat": new ChatOpenAI({ model: "gpt-4o", apiKey: "none" }),
  "openai-responses": new ChatOpenAI({ model: "gpt-5.5", apiKey: "none", useResponsesApi: true }),
  deepseek: new ChatDeepSeek({ model: "deepseek-chat", apiKey: "none" }),
} as const;
const tool = {
  type: "function",
  function: { name: "look", description: "d", parameters: { type: "object", properties: {} } },
};
type Target = keyof typeof models;
const targets = Object.keys(models) as Target[];

/** What a repair makes of messages, which has no error and needs no other one. */
function repaired(profile: BuiltInProfile, messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const criteria = { profile, purpose: "model-input" } as const;
  const { messages: result } = repairConversation(messages, criteria);
  expect(validateConversation(result, criteria).filter(({ severity }) => severity === "error")).toEqual([]);
  expect(repairConversation(result, criteria)).toEqual({ messages: result, repairs: [] });
  return result;
}

/** The request of these messages, which its provider takes. */
async function sent(target: Target, messages: readonly BaseMessage[]): Promise<string> {
  const wireModel = models[target] as unknown as WireModel;
  const { kind, body, model } = await captureWire(wireModel, repaired(target, messages), { tools: [tool] });
  expect(checkWire(kind, body, { model })).toEqual([]);
  return JSON.stringify(body);
}

const data = "iVBORw0KGgo=";
const dataUrl = `data:image/png;base64,${data}`;
const images: readonly (readonly [string, object])[] = [
  ["image_url", { type: "image_url", image_url: { url: dataUrl } }],
  ["image with data", { type: "image", mimeType: "image/png", data }],
  ["image with a source type", { type: "image", source_type: "base64", mime_type: "image/png", data }],
  ["Anthropic's image", { type: "image", source: { type: "base64", media_type: "image/png", data } }],
  ["input_image", { type: "input_image", image_url: dataUrl }],
  ["inlineData", { type: "inlineData", inlineData: { mimeType: "image/png", data } }],
];
const others: readonly (readonly [string, object])[] = [
  ["image behind an address", { type: "image_url", image_url: { url: "https://example.com/a.png" } }],
  ["document", { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } }],
  ["input_file", { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" }],
  ["recording", { type: "audio", mimeType: "audio/wav", data: "UklGRg==" }],
];
const words: readonly (readonly [string, object])[] = [
  ["input_text", { type: "input_text", text: "sunny" }],
  ["text-plain", { type: "text-plain", mimeType: "text/plain", text: "sunny" }],
  ["resource", { type: "resource", resource: { uri: "a:b", text: "sunny" } }],
  ["search_result", { type: "search_result", source: "a", title: "b", content: [{ type: "text", text: "sunny" }] }],
];

const answered = (block: object) => [
  human("Look."),
  new AIMessage({ content: "", tool_calls: [{ type: "tool_call", id: "c1", name: "look", args: {} }] }),
  new ToolMessage({ content: [{ type: "text", text: "Seen:" }, block] as never, tool_call_id: "c1", name: "look" }),
];

describe.each(["anthropic", "google-genai", "bedrock"] as const)("the result of a tool, to %s", (target) => {
  it.each(images)("holds a picture once, as such: %s", async (_, block) => {
    const body = await sent(target, answered(block));
    expect(body.split(data)).toHaveLength(2);
    expect(body).not.toMatch(/"json":\{"type":"i/);
  });
});

describe.each(targets)("the result of a tool, to %s", (target) => {
  it.each(others)("is taken with a block of another kind: %s", async (_, block) => {
    expect(await sent(target, answered(block))).toContain("Seen:");
  });

  it.each(words)("keeps the words of blocks of others: %s", async (_, block) => {
    expect(await sent(target, answered(block))).toContain("sunny");
  });
});

/** What tools return that LangChain does not make a text of, each with one fact. */
const records: readonly (readonly [string, unknown])[] = [
  ["records", [{ id: 1, name: "Ann" }]],
  ["records with a text", [{ text: "x", name: "Ann" }]],
  ["a list of texts and numbers", ["Ann", 2]],
  ["nested lists", [["Ann"]]],
  ["an object", { name: "Ann" }],
  ["a resource of MCP", [{ type: "resource", resource: { uri: "file:///a", text: "Ann" } }]],
  [
    "a link of MCP",
    [
      { type: "text", text: "see" },
      { type: "resource_link", uri: "file:///Ann" },
    ],
  ],
  ["JSON", [{ type: "json", json: { name: "Ann" } }]],
];
const names = Object.keys(builtInProfiles) as BuiltInProfile[];
const profiles = names.filter((name) => builtInProfiles[name].adapter !== undefined);

describe.each(records)("the result of a tool that is %s", (_, content) => {
  const messages = answered({});
  const result = messages.at(-1)!;
  Object.assign(result, { content });

  it.each(profiles)("reaches the model of %s, as words where it takes no other blocks", (profile) => {
    const criteria = { profile, purpose: "model-input", model: "m" } as const;
    const repaired = repairConversation(messages, criteria).messages;
    expect(JSON.stringify(repaired.at(-1)!.content)).toContain("Ann");
    expect(validateConversation(repaired, criteria).filter(({ severity }) => severity === "error")).toEqual([]);
  });

  it.each(targets)("reaches %s in a request that it takes", async (target) => {
    expect(await sent(target, messages)).toContain("Ann");
  });
});

it.each([
  [
    "its data",
    { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
    "data:application/pdf;base64,JVBERi0=",
  ],
  ["its address", { type: "url", url: "https://example.com/a.pdf" }, "https://example.com/a.pdf"],
  ["the id of an upload", { type: "file", file_id: "file-1" }, "file-1"],
])("gives a user's document to OpenAI's Responses as a file, by %s", async (_, source, value) => {
  const asked = new HumanMessage({ content: [{ type: "document", source } as never, { type: "text", text: "Read." }] });
  const body = await sent("openai-responses", [asked]);
  expect(body).toContain('"type":"input_file"');
  expect(body).toContain(`"${value}"`);
});

it("gives a document the form of ChatBedrockConverse once", async () => {
  const file = {
    type: "file",
    mimeType: "application/pdf",
    data: "JVBERi0=",
    metadata: { filename: "my_plan.v2.pdf" },
  };
  const question = new HumanMessage({ content: [{ type: "text", text: "Read." }, file] as never });
  expect(await sent("bedrock", [question])).toContain('"name":"my plan v2 pdf"');
});

const refusal = "I cannot help with that.";
const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "refusal", refusal }] };
const ofOpenAi = { model_provider: "openai" };
const answers: readonly (readonly [string, AIMessage])[] = [
  ["Completions", new AIMessage({ content: "", additional_kwargs: { refusal }, response_metadata: ofOpenAi })],
  [
    "Responses",
    new AIMessage({
      content: [],
      additional_kwargs: { refusal },
      response_metadata: { ...ofOpenAi, output: [item] },
    }),
  ],
];

describe.each(answers)("a refusal of OpenAI's %s", (_, answer) => {
  const messages = [human("How?"), answer, human("Why?")];

  it.each(["openai-chat", "openai-responses", "anthropic", "google-genai"] as const)(
    "goes to %s with its words",
    async (target) => {
      expect(await sent(target, messages)).toContain(refusal);
    },
  );

  it("has its words for ChatGoogle too", () => {
    expect(repaired("google", messages)[1]?.content).toBe(refusal);
  });
});

it("gives a question to Claude words where ChatAnthropic leaves all its blocks out", async () => {
  const block = { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true };
  const question = new HumanMessage({ content: [block] as never });
  expect(await sent("anthropic", [question])).toContain("(empty message)");
});

const question = "Where is Oslo?";
const types = ["text", "input_text", "output_text", "text-plain"];
const asked = (type: string, response_metadata = {}) =>
  new HumanMessage({ content: [{ type, text: question }], response_metadata } as never);

describe.each(targets)("a request to %s", (target) => {
  it.each(types)("has the question that stands in a block of type %s", async (type) => {
    expect((await sent(target, [asked(type)])).split(question)).toHaveLength(2);
  });

  it.each(["text", "text-plain"])("has that of standard content of type %s", async (type) => {
    expect((await sent(target, [asked(type, { output_version: "v1" })])).split(question)).toHaveLength(2);
  });
});

describe.each(["google", "mistral", "deepseek", "strict-template"] as const)(
  "a request for the profile %s",
  (profile) => {
    it.each(types)("has the question that stands in a block of type %s as text", (type) => {
      const [message] = repaired(profile, [asked(type)]);
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
      human(question),
      new AIMessage({ content: "", tool_calls: [call] }),
      new ToolMessage({ content, tool_call_id: call.id, name: "lookup" }),
    ];
    const [system, , , result] = repaired("mistral", messages);
    expect([system!.text, result!.text]).toEqual(["Oslo is in Norway.", "Oslo is in Norway."]);
  });

  it("has no thought as text", () => {
    const thought = { type: "thinking", thinking: "Hm", text: "Hm" };
    const message = new HumanMessage({ content: [thought, { type: "text", text: question }] as never });
    expect(repaired("mistral", [message])[0]!.text).toBe(question);
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
  const next = human("And?");

  it("has texts alone as one text, beside which every class reads the calls", () => {
    const sent = repaired("neutral", [new HumanMessage({ content: parts }), answer, result, ai("Found."), next]);
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
      expect(repaired("neutral", [new HumanMessage({ content })])[0]!.content).toEqual(content);
    }
  });
});
