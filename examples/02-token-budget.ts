// A view that stays within a token budget: each message is counted once, when it is written, and never again.
import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatHistoryTokenReducer, RedisChatMessageHistory, tiktokenCounter } from "langchain-redis-memory";
import { connection } from "./support/setting.js";

const tokenCounter = tiktokenCounter({ encoding: "o200k_base" });
const history = new RedisChatMessageHistory({
  ...connection(),
  sessionId: `budget-${randomUUID()}`,
  reducer: new ChatHistoryTokenReducer({ maxTokens: 800, targetTokens: 600, tokenCounter }),
  onEvent: (event) => {
    if (event.type === "reduced") {
      const { before, after } = event;
      console.log(
        `reduced: ${before.tokens} tokens in ${before.messages} messages -> ${after.tokens} in ${after.messages}`,
      );
    }
  },
});

for (let turn = 1; turn <= 6; turn += 1) {
  const call = { type: "tool_call" as const, id: `call-${turn}`, name: "search_flights", args: { day: turn } };
  await history.addMessages([
    new HumanMessage(`Which flights are there on day ${turn}?`),
    new AIMessage({ content: "", tool_calls: [call] }),
    new ToolMessage({
      content: `Flight ${turn}01 at 09:00, ${"seat map, ".repeat(40)}end of list`,
      tool_call_id: call.id,
      name: call.name,
    }),
    new AIMessage(`There is one flight, ${turn}01, at nine in the morning.`),
  ]);
}

const view = await history.getMessages();
const transcript = await history.getTranscript();
console.log(`the model sees ${view.length} of ${transcript.length} messages, beginning with: ${view[0]!.text}`);
await history.clear();
await history.close();
