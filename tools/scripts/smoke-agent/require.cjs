// The middleware in an agent, as a CommonJS module.
const assert = require("node:assert/strict");
const { FakeListChatModel } = require("@langchain/core/utils/testing");
const { createAgent } = require("langchain");
const { InMemorySessionStore, RedisChatMemory } = require("langchain-redis-memory");
const { redisMemoryMiddleware } = require("langchain-redis-memory/agent");

/** Takes tools, although there are none: older versions of langchain ask for it. */
class FakeModel extends FakeListChatModel {
  bindTools() {
    return this;
  }
}

async function main() {
  const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
  const model = new FakeModel({ responses: ["two"] });
  const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory })] });
  const input = { messages: [{ role: "user", content: "one" }] };
  await agent.invoke(input, { configurable: { sessionId: "smoke" } });
  const transcript = await memory.history("smoke").getTranscript();
  assert.deepEqual(
    transcript.map((message) => message.content),
    ["one", "two"],
  );
  await assert.rejects(agent.invoke(input), { code: "invalid_option", option: "sessionId" });
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
