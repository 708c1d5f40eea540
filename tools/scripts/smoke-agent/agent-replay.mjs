// Retries of an agent's turns: the stored answer comes back without a model call, also a structured one.
import assert from "node:assert/strict";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { createAgent, toolStrategy } from "langchain";
import { InMemorySessionStore, RedisChatMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { z } from "zod";

/** Calls the clock, then the tool of the structured response where there is one, else it says the time. */
class ScriptedModel extends BaseChatModel {
  calls = 0;
  /** Set for a call that fails. */
  failsAt = 0;
  responseTool = undefined;
  _llmType() {
    return "scripted";
  }
  bindTools(tools) {
    this.responseTool = tools.find(({ function: made }) => made !== undefined)?.function.name;
    return this;
  }
  async _generate(messages) {
    this.calls += 1;
    if (this.calls === this.failsAt) {
      throw new Error("The model is down.");
    }
    const id = `call_${Math.random()}`;
    const asked = messages.at(-1).getType() === "human";
    const answer = this.responseTool && { id, name: this.responseTool, args: { hour: 12 } };
    const calls = asked ? [{ id, name: "clock", args: {} }] : answer ? [answer] : [];
    const message = new AIMessage({ content: calls.length > 0 ? "" : "noon", tool_calls: calls });
    return { generations: [{ text: "", message }], llmOutput: {} };
  }
}

const clock = tool(() => "12:00", { name: "clock", description: "The time", schema: z.object({}) });
const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
const contents = ({ messages }) => messages.map((message) => message.content);
const question = () => ({ messages: [new HumanMessage({ id: "q1", content: "What is the time?" })] });

/** Runs a turn until it succeeds, then once more, and says what both gave and how often the model was called. */
async function runTwice(sessionId, { failsAt = 0, isResumed = false, ...options }) {
  const model = Object.assign(new ScriptedModel({}), { failsAt });
  const middleware = [redisMemoryMiddleware({ memory })];
  const newAgent = () => createAgent({ model, tools: [clock], middleware, ...options });
  const agent = newAgent();
  const config = { configurable: { sessionId, ...(isResumed && { thread_id: sessionId }) } };
  if (failsAt > 0) {
    await assert.rejects(agent.invoke(question(), config), /The model is down/);
  }
  const first = await agent.invoke(question(), config);
  const { calls } = model;
  const again = await newAgent().invoke(question(), config);
  assert.equal(model.calls, calls, `${sessionId}: the retry called the model`);
  assert.deepEqual(again.structuredResponse, first.structuredResponse, `${sessionId}: the structured response`);
  const transcript = await memory.history(sessionId).getTranscript();
  assert.deepEqual(contents({ messages: transcript }), contents(first), `${sessionId}: what is stored`);
  return { first, again, calls };
}

const texts = ["What is the time?", "", "12:00", "noon"];
const plain = await runTwice("plain", {});
assert.deepEqual([contents(plain.first), contents(plain.again)], [texts, texts]);

const schema = z.object({ hour: z.number() });
for (const [name, responseFormat] of [
  ["schema", schema],
  ["strategy", toolStrategy(schema)],
]) {
  const { first, again } = await runTwice(name, { responseFormat });
  assert.deepEqual(again.structuredResponse, { hour: 12 });
  assert.deepEqual(contents(again), contents(first));
}

// The next try goes on from the steps of a failed run, and the state shows them in their order.
const failed = await runTwice("failed", { failsAt: 2 });
assert.deepEqual([contents(failed.first), contents(failed.again)], [texts, texts]);
assert.equal(failed.calls, 3);

const checkpointed = await runTwice("checkpointed", { checkpointer: new MemorySaver(), isResumed: true });
assert.deepEqual(contents(checkpointed.first), texts);
