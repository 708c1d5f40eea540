// The deprecated RunnableWithMessageHistory on this memory: only `getMessageHistory` changes.
import { randomUUID } from "node:crypto";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { RedisChatMemory } from "langchain-redis-memory";
import { chatModel, connection } from "./support/setting.js";

const memory = new RedisChatMemory(connection());
const prompt = ChatPromptTemplate.fromMessages([
  ["system", "You are a librarian."],
  new MessagesPlaceholder("history"),
  ["human", "{input}"],
]);
const chain = new RunnableWithMessageHistory({
  runnable: prompt.pipe(chatModel(["Try 'Dubliners'.", "Fifteen."])),
  getMessageHistory: memory.getMessageHistory,
  inputMessagesKey: "input",
  historyMessagesKey: "history",
});
const session = { configurable: { sessionId: `reader-${randomUUID()}` } };

await chain.invoke({ input: "A book about Dublin?" }, session);
// The same reads and writes also serve streams.
for await (const part of await chain.stream({ input: "How many stories has it?" }, session)) {
  process.stdout.write(part.text);
}
console.log();

const history = memory.history(session.configurable.sessionId);
for (const message of await history.getMessages()) {
  console.log(`${message.getType()}: ${message.text}`);
}
await history.clear();
await memory.close();
