import { isCompaction } from "../calls.js";
import { type Fields, isRecord } from "../values.js";

/** The items of `response_metadata.output`, which ChatOpenAI sends as they are; undefined if it is something else. */
export function outputItems(output: unknown): readonly Fields[] | undefined {
  const isTyped = (item: unknown) => isRecord(item) && typeof item["type"] === "string";
  return Array.isArray(output) && output.length > 0 && output.every(isTyped) ? (output as Fields[]) : undefined;
}

const callTypes = new Set<unknown>(["function_call", "custom_tool_call", "computer_call"]);

/** True for an item that is a call of the message. */
export function isCallItem({ type }: Fields): boolean {
  return callTypes.has(type);
}

/** The item by which OpenAI compacted a conversation, and the messages of others that it kept; none without one. */
export function compactedItems(output: unknown): readonly Fields[] {
  const items = outputItems(output) ?? [];
  const isKept = (item: Fields) => isCompaction(item) || (item["type"] === "message" && !isOfModel(item));
  return items.some(isCompaction) ? items.filter(isKept) : [];
}

/** True for an item with words of the model. */
export function isOfModel({ type, role = "assistant" }: Fields): boolean {
  return type === "message" && role === "assistant";
}
