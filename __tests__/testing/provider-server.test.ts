import { ChatAnthropic } from "@langchain/anthropic";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.js";
import type { ProviderReply } from "../../testing/wire/answers/answer.js";
import type { WireModel } from "../../testing/wire/capture-wire.js";
import type { WireKind } from "../../testing/wire/findings.js";

const servers: ProviderServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const key = { apiKey: "none", maxRetries: 0 };
// Jest cannot load ChatMistralAI, and the client of Bedrock speaks HTTP/2 by itself.
const models: Readonly<Record<Exclude<WireKind, "mistral" | "bedrock">, (url: string) => unknown>> = {
  "openai-chat": (url) => new ChatOpenAI({ ...key, model: "gpt-4o", configuration: { baseURL: `${url}/v1` } }),
  "openai-responses": (url) =>
    new ChatOpenAI({ ...key, model: "gpt-5.5", useResponsesApi: true, configuration: { baseURL: `${url}/v1` } }),
  anthropic: (url) => new ChatAnthropic({ ...key, model: "claude-opus-5-5", anthropicApiUrl: url }),
  gemini: (url) => new ChatGoogleGenerativeAI({ ...key, model: "gemini-3-pro-preview", baseUrl: url }),
};

type Kind = keyof typeof models;

async function start(kind: Kind, reply: ProviderReply) {
  const server = await startProviderServer({ kind, reply: () => reply });
  servers.push(server);
  return { server, model: models[kind](server.url) as WireModel };
}

async function streamed(model: WireModel, messages: BaseMessage[]): Promise<AIMessage> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await model.stream(messages)) {
    chunks.push(chunk as AIMessageChunk);
  }
  return chunks.reduce((all, chunk) => all.concat(chunk));
}

const tool = {
  type: "function",
  function: {
    name: "lookup",
    description: "Looks something up.",
    parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
  },
};

it.each(Object.keys(models) as Kind[])("the server of %s answers its adapter, whole and streamed", async (kind) => {
  const reply = { content: "I look.", thinking: "Hm.", toolCalls: [{ name: "lookup", arguments: { q: "tea" } }] };
  const { server, model } = await start(kind, reply);
  const bound = model.bindTools!([tool] as never[]) as WireModel;
  const question = new HumanMessage("Hi");
  const whole = (await bound.invoke([question])) as AIMessage;
  const parts = await streamed(bound, [question]);
  for (const { tool_calls, text } of [whole, parts]) {
    expect([text, tool_calls?.map(({ name, args }) => [name, args])]).toEqual(["I look.", [["lookup", { q: "tea" }]]]);
  }
  expect(server.requests.map(({ violations }) => violations)).toEqual([[], []]);
});

it.each(Object.keys(models) as Kind[])("the server of %s refuses a call without its result", async (kind) => {
  const { server, model } = await start(kind, { content: "ok" });
  const list = [
    new HumanMessage("Hi"),
    new AIMessage({ content: "", tool_calls: [{ id: "callabcde", name: "lookup", args: {} }] }),
    new HumanMessage("And?"),
  ];
  await expect(model.invoke(list)).rejects.toThrow();
  expect(server.requests[0]?.violations ?? []).not.toEqual([]);
});

it("refuses a thought of Claude's behind another prefix, in the provider's words", async () => {
  const { server, model } = await start("anthropic", { content: "Hello!", thinking: "A greeting." });
  const question = new HumanMessage("Hi");
  const answer = (await model.invoke([question])) as AIMessage;
  const next = new HumanMessage("Bye");
  await model.invoke([question, answer, next]);
  const failure = model.invoke([new HumanMessage("Ho"), answer, next]);
  await expect(failure).rejects.toThrow("bound to a different conversation");
  expect(server.requests.map(({ violations }) => violations.map(({ rule }) => rule))).toEqual([
    [],
    [],
    ["anthropic/bound-thought"],
  ]);
});

it("answers a path of another provider with 404, and a scripted failure with its status", async () => {
  const { server } = await start("gemini", {});
  const other = models.anthropic(server.url) as WireModel;
  await expect(other.invoke([new HumanMessage("Hi")])).rejects.toMatchObject({ status: 404 });
  const busy = await start("anthropic", { failure: { status: 429, message: "Busy." } });
  await expect(busy.model.invoke([new HumanMessage("Hi")])).rejects.toMatchObject({ status: 429 });
});

async function post(url: string, body: object): Promise<readonly [number, string]> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return [response.status, await response.text()];
}

it("speaks Mistral's form", async () => {
  const server = await startProviderServer({ kind: "mistral", reply: () => ({ toolCalls: [{ name: "lookup" }] }) });
  servers.push(server);
  const url = `${server.url}/v1/chat/completions`;
  const body = { model: "mistral-large-latest", messages: [{ role: "user", content: "Hi" }] };
  const [status, whole] = await post(url, body);
  expect([status, whole.includes('"name":"lookup"')]).toEqual([200, true]);
  const [, events] = await post(url, { ...body, stream: true });
  expect(events.trimEnd().endsWith("data: [DONE]")).toBe(true);
  const [refused, error] = await post(url, { ...body, messages: [{ role: "tool", content: "x", tool_call_id: "c" }] });
  expect([refused, JSON.parse(error)]).toEqual([400, expect.objectContaining({ object: "error" })]);
});

it("speaks Bedrock's form", async () => {
  const server = await startProviderServer({ kind: "bedrock", reply: () => ({ content: "Hello!", thinking: "Hm." }) });
  servers.push(server);
  const url = `${server.url}/model/${encodeURIComponent("anthropic.claude-opus-4-8-v1:0")}`;
  const body = { messages: [{ role: "user", content: [{ text: "Hi" }] }] };
  const [status, whole] = await post(`${url}/converse`, body);
  expect([status, whole.includes('"text":"Hello!"')]).toEqual([200, true]);
  const [, events] = await post(`${url}/converse-stream`, body);
  expect(events).toContain("messageStop");
  const [refused, error] = await post(`${url}/converse`, {
    messages: [{ role: "assistant", content: [{ text: "" }] }],
  });
  expect([refused, Object.keys(JSON.parse(error) as object)]).toEqual([400, ["message"]]);
});
