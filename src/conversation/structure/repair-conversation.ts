import type { BaseMessage } from "@langchain/core/messages";
import { resolveRepairOptions, type RepairOptions } from "./options.js";
import { repairAs, type RepairedConversation } from "./repair/repair.js";

/**
 * Repairs every error in a conversation. The given messages are not changed.
 *
 * Deterministic (the same messages give the same result in every process), idempotent, and minimal: unchanged messages
 * come back as the same objects. Warnings are not repaired. Two errors remain, because only the application can fix
 * them: a conversation with nothing to answer (S01), and, unless `trailingMessages` is `drop`, a `model-input` that
 * ends with an AI message (S05). Linear.
 *
 * @throws ConfigurationError for an option that cannot be used.
 * @example
 * import { HumanMessage, ToolMessage } from "@langchain/core/messages";
 * import { repairConversation } from "langchain-redis-memory/structure";
 *
 * const view = [new HumanMessage("Hi"), new ToolMessage({ content: "4 °C", tool_call_id: "c1" })];
 * const { messages, repairs } = repairConversation(view, { profile: "mistral", purpose: "model-input" });
 */
export function repairConversation(
  messages: readonly BaseMessage[],
  options: RepairOptions = {},
): RepairedConversation {
  return repairAs(resolveRepairOptions("repairConversation", options), messages);
}
