import { AIMessage, ToolMessage, type MessageContent } from "@langchain/core/messages";
import { isPlainObject } from "../../base/json-value.js";
import { callsOf } from "../../conversation/messages/calls.js";
import { textOf, type Block } from "../../conversation/messages/content.js";
import { fieldsOf, valueIn } from "../../conversation/messages/values.js";
import type { StoredForms } from "../../memory/session/stored-forms.js";
import type { ToolInvocation } from "./tool-invocation.js";

/**
 * A run as `beforeStore` lets a conversation store its call and result: what it takes out of them is in no log either.
 *
 * @throws RecordError `refused` if it throws.
 */
export async function storedInvocation(run: ToolInvocation, forms: StoredForms): Promise<ToolInvocation> {
  const { name = "", toolCallId = run.id } = run;
  const args = isPlainObject(run.inputs) ? run.inputs : { input: run.inputs };
  const call = new AIMessage({ content: "", tool_calls: [{ type: "tool_call", id: toolCallId, name, args }] });
  const [callForm, resultForm] = await forms.of([call, resultOf(run, { name, tool_call_id: toolCallId })]);
  const stored: unknown = callsOf(callForm!)[0]?.args;
  const inputs = stored !== undefined && args !== run.inputs ? fieldsOf(stored)["input"] : stored;
  return { ...run, inputs: inputs ?? null, outputs: outputsIn(resultForm as ToolMessage, run) };
}

/** Texts and blocks are what a message carries; other values are shown to the function as JSON, and as an artifact. */
function resultOf({ outputs, status }: ToolInvocation, about: { name: string; tool_call_id: string }): ToolMessage {
  return new ToolMessage({
    ...about,
    status: status === "error" ? "error" : "success",
    ...(isContent(outputs) ? { content: outputs } : { content: JSON.stringify(outputs), artifact: outputs }),
  });
}

function outputsIn({ content, artifact }: ToolMessage, { outputs }: ToolInvocation): unknown {
  if (isContent(outputs)) {
    return content;
  }
  const isChanged = JSON.stringify(artifact) !== JSON.stringify(outputs);
  const text = textOf({ content });
  return isChanged || text === JSON.stringify(outputs) ? (artifact ?? null) : (valueIn(text) ?? text);
}

function isContent(outputs: unknown): outputs is MessageContent {
  return typeof outputs === "string" || (Array.isArray(outputs) && outputs.length > 0 && outputs.every(isBlock));
}

function isBlock(value: unknown): value is Block {
  return typeof fieldsOf(value)["type"] === "string";
}
