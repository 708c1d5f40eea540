import type { BaseMessage } from "@langchain/core/messages";
import { StructureError } from "../../base/errors.js";
import { resolveRepairOptions, type StructureOptions, type RepairOptions } from "./options.js";
import { findIssues } from "./rules/find-issues.js";
import type { StructureIssue } from "./rules/rules.js";
import { repairAs, type RepairedConversation } from "./repair/repair.js";

/**
 * Returns every violation of the profile's rules, in the order of the messages; empty for a valid conversation. Linear.
 * Accepts repair options too, so that one object serves both.
 *
 * @throws ConfigurationError for an option or a profile that cannot be used.
 * @example
 * import { HumanMessage, ToolMessage } from "@langchain/core/messages";
 * import { validateConversation } from "langchain-redis-memory/structure";
 *
 * const messages = [new HumanMessage("Hi"), new ToolMessage({ content: "4 °C", tool_call_id: "c1" })];
 * const issues = validateConversation(messages, { profile: "openai", purpose: "model-input" });
 * const refused = issues.filter(({ severity }) => severity === "error"); // the result at 1 answers no call
 */
export function validateConversation(
  messages: readonly BaseMessage[],
  options: StructureOptions = {},
): StructureIssue[] {
  return findIssues(messages, resolveRepairOptions("validateConversation", options).criteria);
}

/**
 * Throws if {@link validateConversation} finds an error; warnings pass.
 *
 * @throws StructureError with the errors found; ConfigurationError for an option or a profile that cannot be used.
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { assertConversation } from "langchain-redis-memory/structure";
 *
 * assertConversation([new HumanMessage("Hi")], { profile: "anthropic", purpose: "model-input" });
 */
export function assertConversation(messages: readonly BaseMessage[], options: StructureOptions = {}): void {
  throwOnErrors(findIssues(messages, resolveRepairOptions("assertConversation", options).criteria));
}

/** Throws if one of the issues is an error. @throws StructureError with the errors */
export function throwOnErrors(issues: readonly StructureIssue[]): void {
  const errors = issues.filter(({ severity }) => severity === "error");
  if (errors.length > 0) {
    const { rule, index, message } = errors[0]!;
    const more = errors.length === 1 ? "" : ` (and ${errors.length - 1} more, see issues)`;
    throw new StructureError(`Message ${index} breaks rule ${rule}: ${message}${more}`, errors);
  }
}

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
