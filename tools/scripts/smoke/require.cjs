// The main job once, as a CommonJS module.
const assert = require("node:assert/strict");
const { HumanMessage, AIMessage } = require("@langchain/core/messages");
const { ConfigurationError, InMemorySessionStore, RedisChatMessageHistory } = require("langchain-redis-memory");

async function main() {
  const history = new RedisChatMessageHistory({ sessionId: "smoke", store: new InMemorySessionStore() });
  await history.addMessages([new HumanMessage("one"), new AIMessage("two")]);
  assert.deepEqual(
    (await history.getMessages()).map((message) => message.content),
    ["one", "two"],
  );
  assert.throws(
    () => new RedisChatMessageHistory({ sessionId: "", store: new InMemorySessionStore() }),
    (error) => ConfigurationError.isInstance(error) && error.option === "sessionId",
  );
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
