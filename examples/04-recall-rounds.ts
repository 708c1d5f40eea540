// The last rounds of a conversation as text in a prompt: bounded in rounds and in characters, with a notice where
// something was cut.
import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { ChatMemoryModule, RedisChatMessageHistory } from "langchain-redis-memory";
import { connection } from "./support/setting.js";

const history = new RedisChatMessageHistory({ ...connection(), sessionId: `weather-${randomUUID()}` });
await history.addMessages([
  new HumanMessage("What is the weather today?"),
  new AIMessage({ content: "Sunny and 72°F.", name: "weather_agent" }),
]);
await history.addMessages([
  new HumanMessage("Should I bring an umbrella?"),
  new AIMessage("You won't need an umbrella today."),
]);
await history.addMessages([new HumanMessage("Thanks!"), new AIMessage("You're welcome!")]);

const recall = new ChatMemoryModule({ history, nRounds: 2 });
const prompt = ChatPromptTemplate.fromTemplate("What was said before:\n{rounds}\n\nSuggest a next question.");
console.log((await prompt.invoke({ rounds: await recall.retrieve() })).toString());
console.log("\n--- at most 110 characters");
console.log(await recall.retrieve({ maxContext: 110 }));
console.log("\n--- as JSON");
console.log(await recall.retrieve({ format: "json", nRounds: 1 }));
await history.clear();
await history.close();
