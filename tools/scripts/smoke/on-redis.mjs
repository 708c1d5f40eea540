// The main job on a real server, with a connection that the package opens and with a client of the application's own.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { HumanMessage, AIMessage } from "@langchain/core/messages";
import * as imported from "langchain-redis-memory";

const require = createRequire(import.meta.url);
const { default: Redis } = require("ioredis");
const { ChatHistoryTruncationReducer, RedisChatMemory } = imported;
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
// What both builds load when it is first used: groups of the store, owners' lists, encryption, pages, copies, exports.
const encryption = { current: { id: "k1", key: new Uint8Array(32).fill(7) } };
for (const { RedisChatMemory: Memory } of [imported, require("langchain-redis-memory")]) {
  await client.flushall();
  const memory = new Memory({ client, encryption });
  const history = memory.history("a", { owner: "ann", title: "Trip" });
  await history.addMessages([
    new HumanMessage({ content: "one", id: "1" }),
    new AIMessage({ content: "two", id: "2" }),
  ]);
  const copy = await history.fork("b");
  await copy.replaceFrom("2", [new AIMessage("other")]);
  assert.deepEqual(contents(await copy.getMessages()), ["one", "other"]);
  assert.equal((await history.getPage()).items.length, 2);
  assert.equal((await history.stats()).messages, 2);
  await history.rebuild();
  const lines = [];
  for await (const line of memory.sessions.export("a", { owner: "ann" })) {
    lines.push(line);
  }
  assert.equal((await memory.sessions.reencrypt()).failed, 0);
  await memory.drain();
  assert.equal((await memory.sessions.list({ owner: "ann" })).sessions.length, 2);
  assert.equal((await memory.sessions.deleteOwner("ann", { guardMs: 1 })).sessions, 2);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await memory.sessions.import(lines);
  assert.deepEqual(contents(await history.getMessages()), ["one", "two"]);
  await memory.close();
}
await client.quit();

function contents(messages) {
  return messages.map(({ content }) => content);
}
