// What leaves the view is summarized once, by one instance, and the summary is stored; the transcript stays readable.
import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatHistorySummarizationReducer, RedisChatMemory } from "langchain-redis-memory";
import { chatModel, connection } from "./support/setting.js";

const summarizer = chatModel([
  "Oslo on Monday, Bergen on Tuesday.",
  "Ann plans Oslo, Bergen, Tromsø and Bodø; she travels with a dog.",
]);
const memory = new RedisChatMemory({
  ...connection(),
  reducer: new ChatHistorySummarizationReducer({ model: summarizer, targetCount: 4, thresholdCount: 2 }),
  reduceWhen: "background", // a turn does not wait for the summary
});
const history = memory.history(`trip-${randomUUID()}`);

for (const [question, answer] of [
  ["I am in Oslo on Monday.", "Noted."],
  ["On Tuesday in Bergen.", "Noted."],
  ["Then Tromsø.", "How many days?"],
  ["Two. And Bodø after that.", "Noted."],
  ["I bring a dog.", "I will look for hotels that take dogs."],
] as const) {
  await history.addMessages([new HumanMessage(question), new AIMessage(answer)]);
  await memory.drain(); // only so that this example prints the same each time
}

console.log("what the model sees:");
for (const message of await history.getMessages()) {
  console.log(`  ${message.getType().padEnd(5)} ${message.text.replaceAll("\n", " ")}`);
}
console.log(`what is kept: ${(await history.getTranscript()).length} messages`);
await history.clear();
await memory.close();
