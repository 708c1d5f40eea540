// A conversation that every provider refuses: said why, repaired for one of them, and each change reported.
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { repairConversation, validateConversation } from "langchain-redis-memory/structure";

const calls = ["call_1", "call_2"].map((id) => ({ type: "tool_call" as const, id, name: "lookup", args: {} }));
const broken = [
  new HumanMessage("Where are my two parcels?"),
  new AIMessage({ content: "", tool_calls: calls }),
  new HumanMessage("Hello? Are you still there?"), // the user wrote before the tools had answered
  new ToolMessage({ content: "in Oslo", tool_call_id: "call_1", name: "lookup" }), // late; and call_2 was interrupted
  new ToolMessage({ content: "in Rome", tool_call_id: "call_0", name: "lookup" }), // its call was trimmed away
];

for (const { rule, severity, index, message } of validateConversation(broken, {
  profile: "anthropic",
  purpose: "model-input",
})) {
  console.log(`${rule} ${severity} at ${index}: ${message}`);
}

const { messages, repairs } = repairConversation(broken, { profile: "anthropic", purpose: "model-input" });
console.log("\nrepairs:");
repairs.forEach(({ rule, index, action, message }) => console.log(`  ${rule} ${action} at ${index}: ${message}`));
console.log("\nwhat is sent:");
messages.forEach((message) => console.log(`  ${message.getType().padEnd(5)} ${message.text || "(tool calls)"}`));
const errors = validateConversation(messages, { profile: "anthropic", purpose: "model-input" }).filter(
  ({ severity }) => severity === "error",
);
console.log(`\nerrors left: ${errors.length}`);
