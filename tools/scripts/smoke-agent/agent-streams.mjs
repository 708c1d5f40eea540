// What the streams of a run, of a retry and of a stopped run hold; docs/agents.md says the same in a table.
import assert from "node:assert/strict";
import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { createAgent } from "langchain";
import { InMemorySessionStore, RedisChatMemory, withRedisMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";

const words = ["one ", "two ", "three"];

/** Says its words, each once `allow` lets it. */
class SpeakingModel extends BaseChatModel {
  calls = 0;
  allow = async () => undefined;
  _llmType() {
    return "speaking";
  }
  bindTools() {
    return this;
  }
  async _generate() {
    this.calls += 1;
    return { generations: [{ text: words.join(""), message: new AIMessage(words.join("")) }] };
  }
  async *_streamResponseChunks(_messages, { signal }, runManager) {
    this.calls += 1;
    for (const [index, text] of words.entries()) {
      await this.allow(index);
      signal?.throwIfAborted();
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      const chunk = new ChatGenerationChunk({
        text,
        message: new AIMessageChunk({ content: text, usage_metadata: usage }),
      });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
const model = new SpeakingModel({});
const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory, onAbort: "keep" })] });
const chain = withRedisMemory(model, { memory });
const config = (sessionId) => ({ configurable: { sessionId } });
const question = () => new HumanMessage({ id: "q1", content: "Count." });
const ask = () => ({ messages: [question()] });
const transcript = async (sessionId) => (await memory.history(sessionId).getTranscript()).map(({ text }) => text);

async function collect(stream) {
  const chunks = [];
  for await (const chunk of await stream) {
    chunks.push(chunk);
  }
  return chunks;
}

const tokens = (chunks) => chunks.map(([message]) => message);
const run = tokens(await collect(agent.stream(ask(), { ...config("messages"), streamMode: "messages" })));
assert.deepEqual(
  run.map(({ text }) => text).filter((text) => text !== ""),
  words,
);
const retry = tokens(await collect(agent.stream(ask(), { ...config("messages"), streamMode: "messages" })));
assert.deepEqual(
  retry.map(({ text }) => text),
  [words.join("")],
  "messages of a retry",
);
assert.ok(AIMessageChunk.isInstance?.(retry[0]) ?? retry[0] instanceof AIMessageChunk);

const updatesOf = async () => {
  const updates = await collect(agent.stream(ask(), { ...config("updates"), streamMode: "updates" }));
  const [{ model_request: update }] = updates.filter((chunk) => "model_request" in chunk);
  return update.messages.map((message) => [message.getType(), message.text]);
};
const answer = [["ai", words.join("")]];
assert.deepEqual([await updatesOf(), await updatesOf()], [answer, answer], "updates of a run and a retry");

for (const [name, runnable, input] of [
  ["agent", agent, ask],
  ["chain", chain, () => [question()]],
]) {
  const eventsOf = () => collect(runnable.streamEvents(input(), { version: "v2", ...config(`events-${name}`) }));
  await eventsOf();
  const { calls } = model;
  const events = (await eventsOf()).filter(({ event }) => event.startsWith("on_chat_model"));
  assert.equal(model.calls, calls, `${name}: the retry called the model`);
  const names = events.map(({ event }) => event);
  assert.deepEqual(names, ["on_chat_model_start", "on_chat_model_stream", "on_chat_model_end"], name);
  assert.deepEqual(events[0].data.input.messages, [[]], `${name}: the request`);
  assert.equal(events[1].data.chunk.text, words.join(""), name);
  assert.equal(events[2].data.output.text, words.join(""), name);
  assert.equal(events[1].data.chunk.usage_metadata, undefined, name);
}

// A stream that is left ends its run with a recent LangGraph, and what was said is kept; with an older one it runs on.
let isLeft = () => undefined;
const left = new Promise((resolve) => {
  isLeft = resolve;
});
model.allow = async (index) => (index < 2 ? undefined : left);
for await (const [message] of await agent.stream(ask(), { ...config("left"), streamMode: "messages" })) {
  if (message.text === "two ") {
    break;
  }
}
isLeft();
let stored = [];
while (stored.length < 2) {
  await new Promise((resolve) => setTimeout(resolve, 10));
  stored = await transcript("left");
}
assert.ok(["one two ", "one two three"].includes(stored[1]), `a stream that is left: ${stored}`);
console.log(`left: ${stored[1]}`);
