// The main job once, as an ES module: what was said is there again, and what is reduced is still in the transcript.
import assert from "node:assert/strict";
import { HumanMessage, AIMessage } from "@langchain/core/messages";
import { ChatHistoryTruncationReducer, InMemorySessionStore, RedisChatMessageHistory } from "langchain-redis-memory";

const store = new InMemorySessionStore();
const history = new RedisChatMessageHistory({
  sessionId: "smoke",
  store,
  reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }),
});
await history.addMessages([new HumanMessage("one"), new AIMessage("two")]);
await history.addMessages([new HumanMessage("three"), new AIMessage("four")]);
assert.deepEqual(contents(await history.getMessages()), ["three", "four"]);

const other = new RedisChatMessageHistory({ sessionId: "smoke", store });
assert.deepEqual(contents(await other.getTranscript()), ["one", "two", "three", "four"]);
await store.close();

function contents(messages) {
  return messages.map(({ content }) => content);
}
