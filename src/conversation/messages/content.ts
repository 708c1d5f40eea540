import type { BaseMessage, ContentBlock, MessageContent } from "@langchain/core/messages";
import { sameAsJson } from "../../base/json-text.js";
import { callsOf } from "./calls.js";
import { fieldsOf, isRecord, stringIn } from "./values.js";

/** A content block as it is stored: any object with a type. */
export type Block = ContentBlock & Readonly<Record<string, unknown>>;

/** The content as blocks; a text is one block of type `text`, an empty text none. */
export function blocksOf(message: BaseMessage): readonly Block[] {
  const { content } = message as { content: unknown };
  if (typeof content === "string") {
    return content === "" ? [] : [textBlock(content)];
  }
  return Array.isArray(content) ? content.map(toBlock) : [];
}

/** The blocks of list content, strings as text blocks: the list itself where it holds nothing but blocks. */
export function blockList({ content }: { readonly content: unknown }): readonly Block[] {
  if (!Array.isArray(content)) {
    return [];
  }
  const isBlock = (element: unknown) => isRecord(element) || typeof element === "string";
  return content.every(isRecord) ? (content as Block[]) : content.filter(isBlock).map(toBlock);
}

/** A block of text. */
export function textBlock(text: string): Block {
  return { type: "text", text };
}

/** True for a block that is nothing but a text, which could be string content. */
export function isBareText(block: Block): block is Block & { readonly text: string } {
  return block.type === "text" && typeof block["text"] === "string" && Object.keys(block).length === 2;
}

/** True for a text in the form of OpenAI's Responses API. */
export function isResponsesText({ type }: Block): boolean {
  return type === "input_text" || type === "output_text";
}

/** True for a text of any form. */
export function isTextBlock(block: Block): boolean {
  return block.type === "text" || isResponsesText(block);
}

/** An element of a list that is not a block becomes one: a string text, anything else a block of unknown type. */
function toBlock(element: unknown): Block {
  if (isRecord(element)) {
    return element as Block;
  }
  return typeof element === "string" ? textBlock(element) : { type: "unknown" };
}

/** The blocks as content: an empty text if there are none, because providers reject an empty list. */
export function contentOf(blocks: readonly Block[]): string | Block[] {
  return blocks.length === 0 ? "" : [...blocks];
}

/** The blocks as content, where a single text needs no list. */
export function shortContentOf(blocks: readonly Block[]): string | Block[] {
  const [first] = blocks;
  return blocks.length === 1 && isBareText(first!) ? first.text : contentOf(blocks);
}

/** The text of a message: its string content, or its text parts joined. Calls, images and reasoning are not text. */
export function textOf({ content }: Pick<BaseMessage, "content">): string {
  return contentText(content);
}

/** The text of content: the string, or its text parts joined; empty if the content is neither string nor list. */
export function contentText(content: MessageContent): string {
  if (typeof content === "string") {
    return content;
  }
  return Array.isArray(content) ? content.map(blockText).join("") : "";
}

/** The text of one part of content, which some stored messages hold as a string; empty for thoughts and other parts. */
export function blockText(block: unknown): string {
  if (typeof block === "string") {
    return block;
  }
  const part = fieldsOf(block) as Block;
  return isTextBlock(part) && part["thought"] !== true ? (stringIn(part["text"]) ?? "") : "";
}

/**
 * The parts of a message as words: text verbatim, other parts as their type in brackets. Omits parts of the types in
 * `silent`, and empty parts.
 */
export function partsInWords(message: BaseMessage, silent?: ReadonlySet<string>): string[] {
  const words = blocksOf(message).map(({ type, text }) =>
    typeof text === "string" ? text : silent?.has(type) ? "" : `[${type ?? "unknown"}]`,
  );
  return words.filter((word) => word !== "");
}

/** True for messages with the same content, whatever the order of keys; a text is one part that holds it. */
export function sameContent(a: BaseMessage, b: BaseMessage): boolean {
  return sameAsJson(blocksOf(a), blocksOf(b));
}

/** True for the mark of LangChain's standard content, which adapters treat differently from a provider's own. */
export function isStandardContent({ response_metadata: metadata }: BaseMessage): boolean {
  return fieldsOf(metadata)["output_version"] === "v1";
}

/** True for a text block that is empty or white space. */
export function isBlankText(block: Block): boolean {
  return block.type === "text" && String(block["text"] ?? "").trim() === "";
}

/** True for an AI message without calls and with blank content only. */
export function saysNothing(message: BaseMessage): boolean {
  const kwargs = fieldsOf(message.additional_kwargs);
  const isSilent = ["function_call", "audio", "refusal"].every((key) => (kwargs[key] ?? undefined) === undefined);
  return isSilent && callsOf(message).length === 0 && blocksOf(message).every(isBlankText);
}
