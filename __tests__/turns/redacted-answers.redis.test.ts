import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { BaseTracer, type Run } from "@langchain/core/tracers/base";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { ChatHistorySummarizationReducer, withRedisMemory } from "../../src/entries/index.js";
import { redact, repairConversation, type BuiltInProfile } from "../../src/entries/structure.js";
import { captureWire, type WireModel } from "../../testing/wire/capture-wire.js";
import { closeMemories, events, newMemory } from "../support/memories.js";
import { nativeAnswers } from "../support/native-answers.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";

const client = sharedClient();

afterEach(closeMemories);

const marker = "4111-2222";
const said = {
  text: `Your card ${marker}.`,
  thought: `It is ${marker}.`,
  args: { q: marker, name: marker, id: marker, deep: { list: [marker], data: { type: marker } } },
};

const apiKey = "none";
const credentials = { accessKeyId: apiKey, secretAccessKey: apiKey };
// Jest cannot load ChatGoogle and ChatMistralAI.
const adapters: Readonly<Record<string, { readonly profile: BuiltInProfile; readonly model: unknown }>> = {
  chat: { profile: "openai", model: new ChatOpenAI({ model: "gpt-4o", apiKey }) },
  responses: { profile: "openai", model: new ChatOpenAI({ model: "gpt-5.5", apiKey, useResponsesApi: true }) },
  anthropic: { profile: "anthropic", model: new ChatAnthropic({ model: "claude-opus-4-8", apiKey }) },
  genai: { profile: "google-genai", model: new ChatGoogleGenerativeAI({ model: "gemini-3-pro-preview", apiKey }) },
  bedrock: {
    profile: "bedrock",
    model: new ChatBedrockConverse({ model: "anthropic.claude-opus-4-8-v1:0", region: "us-east-1", credentials }),
  },
};

/** Keeps what ended runs were given and gave. */
class Tracer extends BaseTracer {
  readonly name = "test_tracer";
  override readonly awaitHandlers = true;
  readonly ended: Run[] = [];
  protected override persistRun(): Promise<void> {
    return Promise.resolve();
  }
  override onRunUpdate(run: Run): void {
    this.ended.push(run);
  }
}

describe.each(Object.entries(nativeAnswers))("what redact takes out of an answer of %s", (_, answer) => {
  const results = () =>
    ["call_1", "call_2"].map((id) => {
      return new ToolMessage({
        content: said.text,
        artifact: { data: { id: marker }, seen: new Set([marker]) },
        tool_call_id: id,
        name: "lookup",
      });
    });
  const turn = () => [new HumanMessage(said.text), answer(said), ...results(), new HumanMessage("And now?")];

  it("is in no byte of Redis, in no export and in no event", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix }, beforeStore: redact(marker), trackUsage: true });
    const history = memory.history("s", { owner: "ann", title: "Cards" });
    await history.addMessages(turn());
    await history.append(turn(), { turnId: "t" });
    const bytes = [...(await storedBytes(client, keyPrefix))].flat().join("\n");
    expect(bytes).toContain("[redacted]");
    expect(bytes).not.toContain(marker);
    const lines: string[] = [];
    for await (const line of memory.sessions.export("s", { owner: "ann" })) {
      lines.push(line);
    }
    expect(lines.join("\n")).toContain("[redacted]");
    expect(lines.join("\n")).not.toContain(marker);
    expect(JSON.stringify(events)).not.toContain(marker);
  });

  it("is in no trace of a reduction", async () => {
    const summaries = new FakeListChatModel({ responses: ["A summary."] });
    const reducer = new ChatHistorySummarizationReducer({ model: summaries, targetCount: 2 });
    const memory = newMemory({ beforeStore: redact(marker), reducer });
    const tracer = new Tracer();
    let turns = 0;
    const called = () => [answer(said), ...results()];
    const model = RunnableLambda.from(() => [...((turns += 1) === 1 ? called() : []), new AIMessage(said.text)]);
    const chain = withRedisMemory(model, { memory });
    for (const question of [said.text, `And ${marker}?`, `So ${marker}?`]) {
      await chain.invoke(question, { configurable: { sessionId: "s" }, callbacks: [tracer] });
    }
    const reductions = tracer.ended.filter(({ name }) => name === "reduce_view");
    const ids = new Set<string | undefined>(reductions.map(({ id }) => id));
    const calls = tracer.ended.filter((run) => ids.has(run.parent_run_id));
    const traced = JSON.stringify([...reductions, ...calls].map(({ inputs, outputs }) => ({ inputs, outputs })));
    expect(traced).toContain("[redacted]");
    expect(traced).not.toContain(marker);
  });

  it.each(Object.keys(adapters))("is not on the wire of %s", async (name) => {
    const memory = newMemory({ beforeStore: redact(marker) });
    await memory.history("s").addMessages(turn());
    const { profile, model } = adapters[name]!;
    const view = await memory.history("s").getMessages();
    const { messages } = repairConversation(view, { profile, purpose: "model-input", model: "" });
    const { body } = await captureWire(model as WireModel, messages);
    expect(JSON.stringify(body)).toContain("[redacted]");
    expect(JSON.stringify(body)).not.toContain(marker);
  });
});
