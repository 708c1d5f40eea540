// An agent with a memory, as an ES module: the second run is shown the first, with its tool call.
import assert from "node:assert/strict";
import { AIMessage } from "@langchain/core/messages";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { InMemorySessionStore, RedisChatMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { z } from "zod";

const sent = [];

/** Calls the tool once for each human message, then answers. */
class ScriptedModel extends BaseChatModel {
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    sent.push(messages.map((message) => message.getType()));
    const asked = messages.at(-1).getType() === "human";
    const calls = asked ? [{ id: `call_${sent.length}`, name: "clock", args: {} }] : [];
    const message = new AIMessage({ content: asked ? "" : "noon", tool_calls: calls });
    return { generations: [{ text: "", message }], llmOutput: {} };
  }
}

const clock = tool(() => "12:00", { name: "clock", description: "The time", schema: z.object({}) });
const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
const model = new ScriptedModel({});
const agent = createAgent({ model, tools: [clock], middleware: [redisMemoryMiddleware({ memory })] });
for (const [key, content] of [
  ["sessionId", "What is the time?"],
  ["thread_id", "And now?"],
]) {
  await agent.invoke({ messages: [{ role: "user", content }] }, { configurable: { [key]: "smoke" } });
}
const turn = ["human", "ai", "tool", "ai"];
assert.deepEqual(sent, [["human"], turn.slice(0, 3), [...turn, "human"], [...turn, ...turn.slice(0, 3)]]);
const transcript = await memory.history("smoke").getTranscript();
assert.deepEqual(
  transcript.map((message) => message.getType()),
  [...turn, ...turn],
);
