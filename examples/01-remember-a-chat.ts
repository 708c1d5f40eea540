// A chat that remembers: the same session on two instances of an application, and what the model sees after many turns.
import { randomUUID } from "node:crypto";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { ChatHistoryTruncationReducer, RedisChatMemory, withRedisMemory } from "langchain-redis-memory";
import { chatModel, connection } from "./support/setting.js";

const options = {
  ...connection(),
  sessionTTL: 3600,
  reducer: new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 2 }),
};
const prompt = ChatPromptTemplate.fromMessages([
  ["system", "You are a librarian."],
  new MessagesPlaceholder("history"),
  ["human", "{input}"],
]);
const model = chatModel([
  "Try 'The Boys in the Boat'.",
  "Try 'Dubliners'.",
  "Try 'City of Thieves'.",
  "Try 'A Moveable Feast'.",
]);
const keys = { inputMessagesKey: "input", historyMessagesKey: "history" };

const instances = [new RedisChatMemory(options), new RedisChatMemory(options)];
const chats = instances.map((memory) => withRedisMemory(prompt.pipe(model), { memory, ...keys }));
const session = { configurable: { sessionId: `reader-${randomUUID()}` } };

for (const [turn, city] of ["Seattle", "Dublin", "St. Petersburg", "Paris"].entries()) {
  const reply = await chats[turn % 2]!.invoke({ input: `A book about ${city}?` }, session);
  console.log(`instance ${(turn % 2) + 1}  user: A book about ${city}?  assistant: ${reply.text}`);
}

const history = instances[0]!.history(session.configurable.sessionId);
console.log(`transcript: ${(await history.getTranscript()).length} messages`);
console.log(`view:\n  ${(await history.getMessages()).map(({ text }) => text).join("\n  ")}`);
await history.clear();
await Promise.all(instances.map((memory) => memory.close()));
