import type { CostSum } from "./cost.js";
import type { Block } from "../../messages/content.js";
import { mediaIn, type Media } from "../../messages/media.js";
import { fieldsOf, type Fields } from "../../messages/values.js";
import { addMediaCost } from "./media-cost.js";

const callTypes: ReadonlySet<unknown> = new Set([
  "tool_use",
  "tool_call",
  "invalid_tool_call",
  "tool_call_chunk",
  "function_call",
  "input_json_delta",
]);
const noTypes: ReadonlySet<unknown> = new Set();

/**
 * Adds what the content of a message costs, in any of LangChain's forms: text, content blocks, and the blocks of
 * OpenAI, Anthropic and Google.
 *
 * Text and reasoning count as their text, media by their own rules, a tool result as its content, and a block of an
 * unknown kind as its JSON. With `callsCounted`, blocks that repeat the message's `tool_calls` add nothing.
 */
export function addContent(sum: CostSum, content: unknown, { callsCounted }: { callsCounted: boolean }): void {
  // A list that grows, and no recursion: how deep content nests is its sender's choice. A circular part is added
  // once.
  const inner: unknown[] = [];
  const added = new Set<unknown>([content]);
  addParts({ sum, inner }, content, callsCounted ? callTypes : noTypes);
  for (const nested of inner) {
    if (typeof nested === "string" || !added.has(nested)) {
      added.add(nested);
      addParts({ sum, inner }, nested, noTypes);
    }
  }
}

/** The sum of costs, and the contents of blocks that are still to be added to it. */
interface Adding {
  readonly sum: CostSum;
  readonly inner: unknown[];
}

function addParts(to: Adding, content: unknown, skipped: ReadonlySet<unknown>): void {
  if (!Array.isArray(content)) {
    to.sum.addText(content);
    return;
  }
  for (const block of content as unknown[]) {
    if (typeof block !== "object" || block === null) {
      to.sum.addText(block);
    } else if (!skipped.has((block as Fields)["type"])) {
      addBlock(to, block as Fields);
    }
  }
}

function addBlock({ sum, inner }: Adding, block: Fields): void {
  const media = mediaIn(block as Block);
  if (media !== undefined) {
    addMedia({ sum, inner }, media);
    return;
  }
  switch (block["type"]) {
    case "text":
    case "input_text":
    case "output_text":
    case "text-plain":
      sum.addText(block["text"]);
      return;
    case "refusal":
      sum.addText(block["refusal"]);
      return;
    case "thinking":
      sum.addText(block["thinking"]);
      return;
    case "reasoning":
      sum.addText(block["reasoning"]);
      inner.push(asBlocks(block["summary"]));
      return;
    case "tool_result":
      sum.addText(block["tool_use_id"]);
      inner.push(block["content"]);
      return;
    default:
      sum.addValue(block["type"] === "non_standard" ? block["value"] : block);
  }
}

function addMedia({ sum, inner }: Adding, media: Media): void {
  if (media.text === undefined) {
    addMediaCost(sum, media);
  } else {
    inner.push(media.text);
  }
}

/** The parts of a summary of OpenAI's reasoning, as text blocks. */
function asBlocks(summary: unknown): unknown {
  return Array.isArray(summary) ? summary.map((part: unknown) => fieldsOf(part)["text"]) : summary;
}
