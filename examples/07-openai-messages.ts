// A conversation in OpenAI's chat format: tools, names, images; to LangChain and back without loss.
import { MessageHistory } from "langchain-redis-memory/openai";

const history = new MessageHistory();
history.addMessage("system", "You order pizza.");
history.addMessage(
  "user",
  [
    { type: "text", text: "What is on this menu?" },
    { type: "image_url", image_url: { url: "https://example.com/menu.jpg" } },
  ],
  { name: "laimonis" },
);
const mark = history.mark();
history.addSimulatedCalls([
  {
    id: "0001",
    name: "get_user_allergies",
    arguments: { username: "laimonis" },
    result: { allergies: ["peanuts", "gluten"] },
  },
  { id: "0002", name: "get_user_allergies", arguments: { username: "ema" }, result: { allergies: ["dairy", "soy"] } },
]);
history.addMessage("assistant", "Nothing here is safe for both of you.", {
  name: "restaurant",
  metadata: { model: "scripted" },
});

console.log(String(history));
console.log(
  `added since the mark: ${history
    .since(mark)
    .map(({ role }) => role)
    .join(", ")}`,
);
console.log(`last, as it is sent: ${JSON.stringify(history.toOpenAIFormat().at(-1))}`);
console.log(
  `as LangChain messages: ${history
    .toMessages()
    .map((message) => message.getType())
    .join(", ")}`,
);
const json = JSON.stringify(history);
console.log(`the same after JSON: ${JSON.stringify(MessageHistory.fromJSON(json)) === json}`);
