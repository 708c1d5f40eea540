import type { BaseMessage } from "@langchain/core/messages";
import { type CopyField, differingCopies } from "../../messages/copies/call-agreement.js";
import { plainAnswer } from "../../messages/copies/plain-answer.js";
import type { Adapter } from "../adapters/adapter.js";
import type { StructureProfile } from "../profiles/profile.js";
import type { Finding } from "./rules.js";

/** Fields from which an adapter sends calls, besides `tool_calls`; not known where the model is not. */
const sentFields: Readonly<Partial<Record<Adapter, readonly CopyField[]>>> = {
  "openai-chat": ["function_call"],
  "openai-responses": ["output"],
  anthropic: ["content"],
  google: ["content"],
  "google-genai": ["content"],
  deepseek: ["function_call"],
  neutral: ["content", "function_call", "output"],
};

const fieldNames: Readonly<Record<CopyField, string>> = {
  content: "the content",
  tool_calls: "`additional_kwargs.tool_calls`",
  function_call: "`additional_kwargs.function_call`",
  output: "`response_metadata.output`",
};

/**
 * Checks that the copies of a message's calls agree: rule S35. An error where the adapter sends a copy that differs,
 * and otherwise what the profile says. Returns the message as the other rules read it: plain where it is an error.
 */
export function checkCopies(
  message: BaseMessage,
  profile: StructureProfile,
): { readonly problem: Omit<Finding, "index"> | undefined; readonly message: BaseMessage } {
  const listed = profile.rules.S35;
  const differing = listed === undefined ? new Set<CopyField>() : differingCopies(message);
  if (listed === undefined || differing.size === 0) {
    return { problem: undefined, message };
  }
  const sent = profile.adapter === undefined ? [] : (sentFields[profile.adapter] ?? []);
  const severity = sent.some((field) => differing.has(field)) ? "error" : listed;
  const fields = [...differing].map((field) => fieldNames[field]).join(", ");
  const problem = {
    rule: "S35",
    severity,
    message: `Calls in ${fields} differ from those in \`tool_calls\`.`,
  } as const;
  return { problem, message: severity === "error" ? plainAnswer(message) : message };
}
