import type { BaseMessage } from "@langchain/core/messages";
import { ConfigurationError, StructureError } from "../errors.js";
import { readStructure, type Finding, type StructureContext, type StructureCriteria } from "./rules/context.js";
import { checkMessages } from "./rules/message-rules.js";
import { checkOrder } from "./rules/order-rules.js";
import { resolveProfile, type StructureProfile } from "./profiles/profile.js";
import type { BuiltInProfile } from "./profiles/built-in-profiles.js";
import type { StructureIssue, StructurePurpose } from "./rules/rules.js";
import { checkTools } from "./rules/tool-rules.js";

/** By what a conversation is judged. */
export interface StructureOptions {
  /** Whose rules hold: a name, or a profile of your own. @default "langchain" */
  readonly profile?: BuiltInProfile | StructureProfile;
  /**
   * What the messages are for. A `history` may end on the model's message, or on calls that the runtime will still
   * answer; a `model-input` ends on the user's message or a tool result, and no call in it is open. @default "history"
   */
  readonly purpose?: StructurePurpose;
  /**
   * Whether the request declares tools, for rule S28; undefined where that is not known, which passes.
   * @default undefined
   */
  readonly hasTools?: boolean;
  /** Whether the provider keeps reasoning items (`store`), for rule S22. @default true */
  readonly storesReasoning?: boolean;
}

/**
 * Every place where the conversation breaks a rule of the profile, in the order of the messages; empty for a valid one.
 * Linear.
 *
 * @example
 * const refused = validateConversation(messages, { purpose: "model-input" }).filter(({ severity }) => severity === "error");
 */
export function validateConversation(
  messages: readonly BaseMessage[],
  options: StructureOptions = {},
): StructureIssue[] {
  return findIssues(readStructure(messages, resolveStructureOptions(options)));
}

/** Returns if the conversation has no error; warnings pass. @throws StructureError with the errors found. */
export function assertConversation(messages: readonly BaseMessage[], options: StructureOptions = {}): void {
  throwOnErrors(validateConversation(messages, options));
}

/** Throws if there is an error among the issues. @throws StructureError */
export function throwOnErrors(issues: readonly StructureIssue[]): void {
  const errors = issues.filter(({ severity }) => severity === "error");
  if (errors.length > 0) {
    const { rule, index, message } = errors[0]!;
    const more = errors.length === 1 ? "" : ` (and ${errors.length - 1} more, see issues)`;
    throw new StructureError(`Message ${index} breaks rule ${rule}: ${message}${more}`, errors);
  }
}

/** The options with defaults, checked. @throws ConfigurationError */
export function resolveStructureOptions({
  profile,
  purpose = "history",
  hasTools,
  storesReasoning = true,
}: StructureOptions): StructureCriteria {
  if (purpose !== "history" && purpose !== "model-input") {
    throw new ConfigurationError("purpose", `Option "purpose" must be "history" or "model-input".`);
  }
  if (hasTools !== undefined && typeof hasTools !== "boolean") {
    throw new ConfigurationError("hasTools", `Option "hasTools" must be true or false.`);
  }
  if (typeof storesReasoning !== "boolean") {
    throw new ConfigurationError("storesReasoning", `Option "storesReasoning" must be true or false.`);
  }
  return { profile: resolveProfile(profile), purpose, hasTools, storesReasoning };
}

/** The issues of a conversation that was read. */
export function findIssues(context: StructureContext): StructureIssue[] {
  const { messages, profile } = context;
  const issues: StructureIssue[] = [];
  const report = ({ rule, index, message, severity = profile.rules[rule] }: Finding): void => {
    if (profile.rules[rule] !== undefined && severity !== undefined) {
      const messageId = messages[index]?.id;
      issues.push({ rule, severity, index, ...(messageId === undefined ? {} : { messageId }), message });
    }
  };
  checkOrder(context, report);
  checkTools(context, report);
  checkMessages(context, report);
  return issues.sort((a, b) => a.index - b.index);
}
