import type { BaseMessage } from "@langchain/core/messages";
import { keepFirstUnits } from "../../base/graphemes.js";
import { jsonText } from "../../base/json-text.js";
import { type Block, blocksOf, contentOf, isTextBlock, textBlock } from "./content.js";
import { mediaKinds } from "./media.js";

/** Truncated content. */
export interface BoundedContent {
  readonly content: string | Block[];
  readonly isShortened: boolean;
}

/**
 * Truncates the content of a message to a number of characters, behind a label. Text of every provider's form becomes
 * blocks of type `text`, cut at a grapheme. Media and files, also those of plain text, count as their JSON; they are
 * never cut, and dropped where they no longer fit. All other blocks, such as repeated calls and reasoning, are dropped.
 */
export function boundContent(
  message: BaseMessage,
  { maxCharacters, label }: { readonly maxCharacters: number; readonly label: string },
): BoundedContent {
  if (typeof message.content === "string") {
    const text = keepFirstUnits(message.content, maxCharacters);
    return { content: label + text, isShortened: text.length < message.content.length };
  }
  let left = maxCharacters;
  const kept: Block[] = [];
  const given = blocksOf(message);
  for (const block of given) {
    const bounded = boundBlock(block, left);
    if (bounded !== undefined) {
      kept.push(bounded);
      left -= sizeOf(bounded);
    }
  }
  const content = label === "" ? kept : [textBlock(label), ...kept];
  const isShortened =
    kept.length < given.length || maxCharacters - left < given.reduce((sum, block) => sum + sizeOf(block), 0);
  return { content: contentOf(content), isShortened };
}

function boundBlock(block: Block, left: number): Block | undefined {
  if (isTextBlock(block)) {
    const text = keepFirstUnits(typeof block["text"] === "string" ? block["text"] : "", left);
    return text === "" ? undefined : textBlock(text);
  }
  return (mediaKinds.has(block.type) || block.type === "text-plain") && sizeOf(block) <= left ? block : undefined;
}

function sizeOf(block: Block): number {
  if (isTextBlock(block)) {
    return typeof block["text"] === "string" ? block["text"].length : 0;
  }
  return jsonText(block)?.length ?? Infinity;
}
