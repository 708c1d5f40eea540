import { parseArguments } from "../../../base/json-value.js";
import { fieldsOf } from "../../../conversation/messages/values.js";
import type { MessageToolCall } from "../message.js";

/** LangChain's two lists of calls, without empty lists. */
export interface LangChainCalls {
  readonly tool_calls?: readonly object[];
  readonly invalid_tool_calls?: readonly object[];
}

/** Converts calls to LangChain's: valid if the arguments are a JSON object or blank (no arguments), else invalid. */
export function callsToLangChain(calls: readonly MessageToolCall[] | undefined): LangChainCalls {
  const valid: object[] = [];
  const invalid: object[] = [];
  for (const call of calls ?? []) {
    const { name, text, args } = readCall(call);
    if (args === undefined) {
      invalid.push({ type: "invalid_tool_call", id: call.id, name, args: text, error: "Malformed args." });
    } else {
      valid.push({ type: "tool_call", id: call.id, name, args });
    }
  }
  return { ...(valid.length > 0 && { tool_calls: valid }), ...(invalid.length > 0 && { invalid_tool_calls: invalid }) };
}

function readCall(call: MessageToolCall): { name: string; text: string; args: Record<string, unknown> | undefined } {
  if (call.type === "custom") {
    return { name: call.custom.name, text: call.custom.input, args: { input: call.custom.input } };
  }
  const { name, arguments: text } = call.function;
  return { name, text, args: parseArguments(text) };
}

/**
 * Converts LangChain's calls to OpenAI's, the valid ones first; one that its adapter marks as that of a free-text tool
 * becomes a custom call. A missing id or name becomes the empty string.
 */
export function callsToOpenAI({
  tool_calls: valid = [],
  invalid_tool_calls: invalid = [],
}: LangChainCalls): MessageToolCall[] {
  return [...valid, ...invalid].map((call) => {
    const { id, name, args, isCustomTool } = fieldsOf(call);
    const input = isCustomTool === true ? fieldsOf(args)["input"] : undefined;
    if (typeof input === "string") {
      return { id: textOf(id), type: "custom", custom: { name: textOf(name), input } };
    }
    const text = typeof args === "string" ? args : args === undefined || args === null ? "" : JSON.stringify(args);
    return { id: textOf(id), type: "function", function: { name: textOf(name), arguments: text } };
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
