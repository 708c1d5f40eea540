import type { BaseMessage } from "@langchain/core/messages";
import {
  type CallDisagreement,
  callDisagreement,
  type CopyField,
  withAgreement,
} from "../../messages/copies/call-agreement.js";
import type { Adapter } from "../adapters/adapter.js";
import type { StructureProfile } from "../profiles/profile.js";
import type { Finding, StructureSeverity } from "./rules.js";

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

/**
 * Checks that the copies of a message's calls agree: rule S35. An error where the adapter sends a copy that differs,
 * and otherwise what the profile says. Returns the message as the other rules read it: with the error repaired.
 */
export function checkCopies(
  message: BaseMessage,
  profile: StructureProfile,
): { readonly problem: Omit<Finding, "index"> | undefined; readonly message: BaseMessage } {
  const found = differingCopies(message, profile);
  if (found === undefined) {
    return { problem: undefined, message };
  }
  const { disagreement, severity } = found;
  const fields = [...disagreement.fields].map((field) => fieldNames[field]).join(", ");
  const problem = {
    rule: "S35",
    severity,
    message: `Calls in ${fields} differ from those in \`tool_calls\`.`,
  } as const;
  return { problem, message: severity === "error" ? withAgreement(message, disagreement) : message };
}

const fieldNames: Readonly<Record<CopyField, string>> = {
  content: "the content",
  tool_calls: "`additional_kwargs.tool_calls`",
  function_call: "`additional_kwargs.function_call`",
  output: "`response_metadata.output`",
};

/** The message with agreeing copies where rule S35 is an error; the message itself otherwise. */
export function agreedCopies(message: BaseMessage, profile: StructureProfile): BaseMessage {
  const found = differingCopies(message, profile);
  return found?.severity === "error" ? withAgreement(message, found.disagreement) : message;
}

interface DifferingCopies {
  readonly disagreement: CallDisagreement;
  readonly severity: StructureSeverity;
}

function differingCopies(message: BaseMessage, profile: StructureProfile): DifferingCopies | undefined {
  const listed = profile.rules.S35;
  const disagreement = listed === undefined ? undefined : callDisagreement(message);
  if (listed === undefined || disagreement === undefined) {
    return undefined;
  }
  const sent = profile.adapter === undefined ? [] : (sentFields[profile.adapter] ?? []);
  return { disagreement, severity: sent.some((field) => disagreement.fields.has(field)) ? "error" : listed };
}
