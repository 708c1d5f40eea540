// An agent of LangChain's createAgent with the same memory: agents are no Runnables, so it comes as middleware.
import { randomUUID } from "node:crypto";
import { createAgent } from "langchain";
import { ChatHistoryTruncationReducer, RedisChatMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { chatModel, connection } from "./support/setting.js";

const memory = new RedisChatMemory({ ...connection(), reducer: new ChatHistoryTruncationReducer({ targetCount: 10 }) });
const model = chatModel(["Hello Ann."]);
const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory })] });
const session = { configurable: { sessionId: `agent-${randomUUID()}` } };

for (const content of ["I am Ann.", "Who am I?"]) {
  const { messages } = await agent.invoke({ messages: [{ role: "user", content }] }, session);
  console.log(`the agent's state holds ${messages.length} messages; it answers: ${messages.at(-1)!.text}`);
}

const history = memory.history(session.configurable.sessionId);
console.log(`stored: ${(await history.getTranscript()).map((message) => message.getType()).join(", ")}`);
await history.clear();
await memory.close();
