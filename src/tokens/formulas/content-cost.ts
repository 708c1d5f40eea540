import type { CostSum } from "./cost.js";
import { mediaKinds } from "../../messages/content.js";
import { fieldsOf, stringIn, type Fields } from "../../messages/values.js";
import { addMedia, type Media } from "./media-cost.js";

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
  const kind = mediaKinds.get(block["type"]);
  if (kind !== undefined) {
    addMediaBlock({ sum, inner }, kind, block);
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

/** The parts of a summary of OpenAI's reasoning, as text blocks. */
function asBlocks(summary: unknown): unknown {
  return Array.isArray(summary) ? summary.map((part: unknown) => fieldsOf(part)["text"]) : summary;
}

function addMediaBlock({ sum, inner }: Adding, kind: Media["kind"], block: Fields): void {
  const nested = { ...fieldsOf(block["source"]), ...fieldsOf(block["file"]), ...fieldsOf(block["input_audio"]) };
  const all: Fields = { ...block, ...nested };
  const text =
    all["text"] ??
    (all["type"] === "text" ? all["data"] : undefined) ??
    (Array.isArray(nested["content"]) ? nested["content"] : undefined);
  if (text !== undefined) {
    inner.push(text);
    return;
  }
  addMedia(sum, { kind, ...mediaOf(all) });
}

function mediaOf(all: Fields): Omit<Media, "kind"> {
  const link = all["image_url"] ?? all["url"];
  const url = stringIn(link) ?? stringIn(fieldsOf(link)["url"]) ?? stringIn(all["file_url"]) ?? "";
  const given = all["data"] ?? all["file_data"];
  const data = typeof given === "string" || ArrayBuffer.isView(given) ? (given as string | Uint8Array) : dataUrl(url);
  const format = stringIn(all["format"]);
  const mimeType =
    stringIn(all["mimeType"]) ??
    stringIn(all["mime_type"]) ??
    stringIn(all["media_type"]) ??
    (format && `audio/${format}`) ??
    typeOfDataUrl(data);
  const detail =
    stringIn(fieldsOf(link)["detail"]) ?? stringIn(all["detail"]) ?? stringIn(fieldsOf(all["metadata"])["detail"]);
  return {
    ...(data !== undefined && { data }),
    ...(mimeType !== undefined && { mimeType }),
    ...(detail !== undefined && { detail }),
  };
}

function dataUrl(url: string): string | undefined {
  return url.startsWith("data:") ? url : undefined;
}

function typeOfDataUrl(data: unknown): string | undefined {
  return typeof data === "string" ? /^data:([^;,]+)/.exec(data.slice(0, 200))?.[1] : undefined;
}
