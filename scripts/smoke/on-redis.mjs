// The main job on a real server, with a connection that the package opens and with a client of the application's own.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { HumanMessage, AIMessage } from "@langchain/core/messages";
import { ChatHistoryTruncationReducer, RedisChatMemory } from "langchain-redis-memory";

const { default: Redis } = createRequire(import.meta.url)("ioredis");
const socket = process.env.SMOKE_REDIS_SOCKET;
const client = new Redis(socket);
const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
await client.flushall();
for (const [sessionId, connection] of [
  ["opened", { url: `unix://${socket}` }],
  ["given", { client }],
]) {
  const memory = new RedisChatMemory({ ...connection, reducer });
  const history = memory.history(sessionId);
  await history.addMessages([new HumanMessage("one"), new AIMessage("two")]);
  await history.append([new HumanMessage({ content: "three", id: "3" }), new AIMessage({ content: "four", id: "4" })]);
  const { duplicates } = await history.append([new HumanMessage({ content: "three", id: "3" })]);
  assert.equal(duplicates, 1);
  assert.deepEqual(contents(await history.getMessages()), ["three", "four"]);
  await history.rewind("4");
  assert.deepEqual(contents(await history.getTranscript()), ["one", "two", "three"]);
  await memory.close();
}
await client.quit();

function contents(messages) {
  return messages.map(({ content }) => content);
}
