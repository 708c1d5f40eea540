// The last rounds of a conversation as text for a prompt: bounded in rounds and in characters, with a notice where
// something was cut.
import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
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
console.log(await recall.retrieve());
console.log("\n--- at most 110 characters");
console.log(await recall.retrieve({ maxContext: 110 }));
console.log("\n--- as JSON");
console.log(await recall.retrieve({ format: "json", nRounds: 1 }));
await history.clear();
await history.close();
