import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { blocksOf } from "./message-parts.js";

/** The text of a message: its string content, or its text parts joined. Calls, images and reasoning are not text. */
export function textOf({ content }: Pick<BaseMessage, "content">): string {
  return contentText(content);
}

/** The text of content: the string, or its text parts joined; empty for content that is neither string nor list. */
export function contentText(content: MessageContent): string {
  if (typeof content === "string") {
    return content;
  }
  return Array.isArray(content) ? content.map(blockText).join("") : "";
}

/** The text of one part of content, which is a string in some stored messages; empty for parts of other types. */
export function blockText(block: unknown): string {
  if (typeof block === "string") {
    return block;
  }
  const { type, text } = (block ?? {}) as { readonly type?: unknown; readonly text?: unknown };
  return type === "text" && typeof text === "string" ? text : "";
}

/**
 * What a message says in words, part by part: text as it is, what is not text as its type in brackets. Parts of a type
 * in `silent` say nothing; parts of which nothing is said are left out.
 */
export function partsInWords(message: BaseMessage, silent?: ReadonlySet<string>): string[] {
  const words = blocksOf(message).map(({ type, text }) =>
    typeof text === "string" ? text : silent?.has(type) ? "" : `[${type ?? "unknown"}]`,
  );
  return words.filter((word) => word !== "");
}
