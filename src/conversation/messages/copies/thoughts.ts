import type { BaseMessage } from "@langchain/core/messages";
import { blockList, isCompaction } from "../content.js";
import { type Fields, fieldsOf, isRecord, stringIn } from "../message.js";

/** A thought in one of the forms that adapters give it. */
export interface Thought {
  readonly text: string;
  /** True if a provider signed it or keeps it. */
  readonly isSigned: boolean;
  /** The block or item that holds it. */
  readonly block: Fields;
}

/** Google's key of a signature, on a thought, on a call and on a block that repeats a call. */
export const signatureKey = "thoughtSignature";

/** The thought in a block of content or an item of a response; undefined if it is something else. */
export function thoughtIn(block: unknown): Thought | undefined {
  if (!isRecord(block)) {
    return undefined;
  }
  switch (block["type"]) {
    case "thinking":
      return { text: thinkingText(block["thinking"]), isSigned: isProof(block["signature"]), block };
    case "redacted_thinking":
      return { text: "", isSigned: isProof(block["data"]), block };
    case "reasoning":
      return { text: reasoningText(block), isSigned: isSignedReasoning(block), block };
    case "reasoning_content":
      return inBedrock(block);
    case "text":
      return block["thought"] === true
        ? { text: stringIn(block["text"]) ?? "", isSigned: isProof(block[signatureKey]), block }
        : undefined;
    case "non_standard": {
      const inner = thoughtIn(block["value"]);
      return inner && { ...inner, block };
    }
    default:
      return undefined;
  }
}

/** True for a block of content that holds a thought, in any form. */
export function isThought(block: unknown): boolean {
  return thoughtIn(block) !== undefined;
}

function inBedrock(block: Fields): Thought {
  const { reasoningText: told, redactedContent } = block;
  const { text, signature } = isRecord(told) ? told : {};
  return { text: stringIn(text) ?? "", isSigned: isProof(signature) || redactedContent !== undefined, block };
}

function isProof(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isSignedReasoning({ signature, encrypted_content, id }: Fields): boolean {
  return isProof(signature) || isProof(encrypted_content) || isReasoningId(id);
}

/** True for the id of a reasoning item that OpenAI keeps. */
export function isReasoningId(id: unknown): boolean {
  return typeof id === "string" && id.startsWith("rs_");
}

/** Mistral's thinking is a list of text blocks. */
function thinkingText(thinking: unknown): string {
  return Array.isArray(thinking) ? textOfList(thinking) : (stringIn(thinking) ?? "");
}

function reasoningText({ reasoning, summary, content }: Fields): string {
  if (typeof reasoning === "string") {
    return reasoning;
  }
  return [summary, content].map((list) => (Array.isArray(list) ? textOfList(list) : "")).join("");
}

function textOfList(list: readonly unknown[]): string {
  return list.map((part) => (isRecord(part) ? (stringIn(part["text"]) ?? "") : "")).join("");
}

/** True for a block that holds a signed thought. */
export function isSignedThought(block: unknown): boolean {
  return thoughtIn(block)?.isSigned === true;
}

/** The thoughts of an answer, wherever it holds them. */
export function thoughtsIn(message: BaseMessage): readonly Thought[] {
  const { reasoning, reasoning_content: told } = fieldsOf(message.additional_kwargs);
  const items = outputItems(fieldsOf(message.response_metadata)["output"]) ?? [];
  const text = stringIn(told);
  return [
    ...[...blockList(message), ...items, reasoning].flatMap((block) => thoughtIn(block) ?? []),
    ...(text === undefined ? [] : [{ text: text, isSigned: false, block: { reasoning_content: text } }]),
  ];
}

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
