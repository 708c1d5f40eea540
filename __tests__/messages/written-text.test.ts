import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatGoogle } from "@langchain/google/node";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import fc from "fast-check";
import { askForText, cutOffBy } from "../../src/conversation/messages/written-text.js";
import { withCaughtFetch } from "../../testing/wire/caught-fetch.js";
import { propertyRuns } from "../support/property-runs.js";

const ask = (reply: string | AIMessage) => askForText({ invoke: () => Promise.resolve(reply) }, [], {});
const key = { apiKey: "none", maxRetries: 0 };
const completion = (finish_reason: string) => ({
  ...{ id: "r1", object: "chat.completion", created: 1, model: "m" },
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  choices: [{ index: 0, finish_reason, message: { role: "assistant", content: "They spoke" } }],
});
const candidate = (finishReason: string) => ({
  candidates: [{ content: { role: "model", parts: [{ text: "They spoke" }] }, finishReason }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
});
const response = (reason: string) => ({
  ...{ id: "resp_1", object: "response", model: "m", created_at: 1, tools: [] },
  ...(reason === "completed" ? { status: reason } : { status: "incomplete", incomplete_details: { reason } }),
  output: [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      content: [{ type: "output_text", text: "They spoke", annotations: [] }],
    },
  ],
});
const anthropicMessage = (stop_reason: string | null) => ({
  ...{ id: "m1", type: "message", role: "assistant", model: "m", stop_reason },
  usage: { input_tokens: 1, output_tokens: 1 },
});

/** What each provider answers for an end of its own, through its adapter; whole ends first. */
const adapters = {
  "openai-chat": {
    model: () => new ChatOpenAI({ model: "gpt-4o", ...key }),
    body: completion,
    ends: ["stop", "length", "content_filter"],
  },
  "openai-responses": {
    model: () => new ChatOpenAI({ model: "gpt-5.5", useResponsesApi: true, ...key }),
    body: response,
    ends: ["completed", "max_output_tokens", "content_filter"],
  },
  anthropic: {
    model: () => new ChatAnthropic({ model: "claude-sonnet-4-5", ...key }),
    body: (reason: string) => ({ ...anthropicMessage(reason), content: [{ type: "text", text: "They spoke" }] }),
    ends: ["end_turn", "max_tokens", "refusal", "model_context_window_exceeded", "pause_turn"],
  },
  google: {
    model: () => new ChatGoogle({ model: "gemini-2.5-pro", ...key }),
    body: candidate,
    ends: ["STOP", "MAX_TOKENS", "SAFETY", "RECITATION"],
  },
  "google-genai": {
    model: () => new ChatGoogleGenerativeAI({ model: "gemini-2.5-pro", ...key }),
    body: candidate,
    ends: ["STOP", "MAX_TOKENS"],
  },
  mistral: {
    model: () => new ChatMistralAI({ model: "mistral-large-latest", ...key }),
    body: completion,
    ends: ["stop", "length", "error"],
  },
  bedrock: {
    model: () =>
      new ChatBedrockConverse({
        ...{ model: "anthropic.claude-sonnet-4-5-v1:0", region: "us-east-1" },
        credentials: { accessKeyId: "none", secretAccessKey: "none" },
      }),
    body: (stopReason: string) => ({
      output: { message: { role: "assistant", content: [{ text: "They spoke" }] } },
      ...{ stopReason, usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } },
    }),
    ends: ["end_turn", "max_tokens", "content_filtered", "guardrail_intervened"],
  },
};

describe("a text that a model was asked for", () => {
  it.each(Object.entries(adapters))("is told from one that was cut off: %s", async (_, { model, body, ends }) => {
    const said = await Promise.all(
      ends.map((end) => {
        const chat = model();
        const headers = { "content-type": "application/json" };
        const onRequest = () => ({ status: 200, headers, body: JSON.stringify(body(end)) });
        const work = () => askForText(chat, [new HumanMessage("Summarize.")], {});
        return withCaughtFetch(chat, { onRequest, work });
      }),
    );
    expect(said.map(({ text }) => text)).toEqual(ends.map(() => "They spoke"));
    expect(said.map((each) => each.cutOffBy !== undefined)).toEqual(ends.map((_end, index) => index > 0));
  });

  it("is told from one that was cut off in a stream", async () => {
    const events = (stop_reason: string) => [
      { type: "message_start", message: { ...anthropicMessage(null), content: [] } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "They spoke" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ];
    for (const [reason, isCutOff] of [
      ["end_turn", false],
      ["max_tokens", true],
    ] as const) {
      const chat = new ChatAnthropic({ model: "claude-sonnet-4-5", streaming: true, ...key });
      const body = events(reason)
        .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join("");
      const onRequest = () => ({ status: 200, headers: { "content-type": "text/event-stream" }, body });
      const work = () => askForText(chat, [new HumanMessage("Summarize.")], {});
      const said = await withCaughtFetch(chat, { onRequest, work });
      expect([said.text, said.cutOffBy !== undefined]).toEqual(["They spoke", isCutOff]);
    }
  });

  it.each([
    [{ messageStop: { stopReason: "max_tokens" } }, "max_tokens"],
    [{ messageStop: { stopReason: "end_turn" } }, undefined],
    [{ done_reason: "length" }, "length"],
    [{ done_reason: "stop" }, undefined],
    [{ finish_reason: "model_length" }, "model_length"],
    [{ finishReason: "COMPLETE" }, undefined],
    [{ finish_reason: "eos_token" }, undefined],
    [{ finish_reason: "stop_sequence", stop_reason: null }, undefined],
  ])("ended as its metadata says: %j", (response_metadata, expected) => {
    expect(cutOffBy(new AIMessage({ content: "x", response_metadata }))).toBe(expected);
  });

  it("has no thought in front, and is none within a thought", async () => {
    const tag = fc.constantFrom("think", "thinking", "thought", "reasoning", "THINK");
    const thought = fc.record({
      tag,
      said: fc.string().filter((text) => !/<\//.test(text)),
      space: fc.constantFrom("", "\n", " \n "),
    });
    const rest = fc.string().filter((text) => !/^\s*<|<\//.test(text));
    await fc.assert(
      fc.asyncProperty(fc.array(thought, { maxLength: 3 }), thought, rest, async (thoughts, open, text) => {
        const inFront = thoughts
          .map(({ tag: name, said, space }) => `${space}<${name}>${said}</${name}>${space}`)
          .join("");
        expect((await ask(inFront + text)).text).toBe(text.trim());
        expect((await ask(`${inFront}${open.space}<${open.tag}>${open.said}`)).text).toBe("");
        expect((await ask(`${open.said.replace(/</g, "")}\n</${open.tag}>\n${text}`)).text).toBe(text.trim());
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it("keeps tags that are no thought in front", async () => {
    const texts = ["They asked what `</think>` means.", "They wrote <think>x</think> in a file.", "<b>They</b> spoke."];
    for (const text of texts) {
      expect((await ask(text)).text).toBe(text);
    }
  });
});
