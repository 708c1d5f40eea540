import type { CostSum } from "./cost.js";
import { addMedia, type Media } from "./media-cost.js";

type Fields = Readonly<Record<string, unknown>>;

const mediaKinds: ReadonlyMap<unknown, Media["kind"]> = new Map<unknown, Media["kind"]>([
  ["image", "image"],
  ["image_url", "image"],
  ["input_image", "image"],
  ["audio", "audio"],
  ["input_audio", "audio"],
  ["video", "video"],
  ["file", "file"],
  ["input_file", "file"],
  ["document", "file"],
  ["media", "file"],
]);

const callTypes: ReadonlySet<unknown> = new Set(["tool_use", "tool_call", "invalid_tool_call", "tool_call_chunk", "function_call", "input_json_delta"]);

/**
 * Adds what the content of a message costs, in any of LangChain's forms: text, content blocks, and the blocks of OpenAI, Anthropic and Google.
 *
 * Text and reasoning count as their text, media by their own rules, a tool result as its content, and a block of an unknown kind as its JSON. With
 * `callsCounted`, blocks that repeat the message's `tool_calls` add nothing.
 */
export function addContent(sum: CostSum, content: unknown, { callsCounted }: { callsCounted: boolean }): void {
  if (!Array.isArray(content)) {
    sum.addText(content);
    return;
  }
  for (const block of content as unknown[]) {
    if (typeof block !== "object" || block === null) {
      sum.addText(block);
    } else if (!callsCounted || !callTypes.has((block as Fields)["type"])) {
      addBlock(sum, block as Fields);
    }
  }
}

function addBlock(sum: CostSum, block: Fields): void {
  const kind = mediaKinds.get(block["type"]);
  if (kind !== undefined) {
    addMediaBlock(sum, kind, block);
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
      addContent(sum, asBlocks(block["summary"]), { callsCounted: false });
      return;
    case "tool_result":
      sum.addText(block["tool_use_id"]);
      addContent(sum, block["content"], { callsCounted: false });
      return;
    default:
      sum.addValue(block["type"] === "non_standard" ? block["value"] : block);
  }
}

/** The parts of a summary of OpenAI's reasoning, as text blocks. */
function asBlocks(summary: unknown): unknown {
  return Array.isArray(summary) ? summary.map((part: unknown) => fieldsOf(part)["text"]) : summary;
}

function addMediaBlock(sum: CostSum, kind: Media["kind"], block: Fields): void {
  const inner = { ...fieldsOf(block["source"]), ...fieldsOf(block["file"]), ...fieldsOf(block["input_audio"]) };
  const all: Fields = { ...block, ...inner };
  const text = all["text"] ?? (all["type"] === "text" ? all["data"] : undefined) ?? (Array.isArray(inner["content"]) ? inner["content"] : undefined);
  if (text !== undefined) {
    addContent(sum, text, { callsCounted: false });
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
    stringIn(all["mimeType"]) ?? stringIn(all["mime_type"]) ?? stringIn(all["media_type"]) ?? (format && `audio/${format}`) ?? typeOfDataUrl(data);
  const detail = stringIn(fieldsOf(link)["detail"]) ?? stringIn(all["detail"]) ?? stringIn(fieldsOf(all["metadata"])["detail"]);
  return { ...(data !== undefined && { data }), ...(mimeType !== undefined && { mimeType }), ...(detail !== undefined && { detail }) };
}

function dataUrl(url: string): string | undefined {
  return url.startsWith("data:") ? url : undefined;
}

function typeOfDataUrl(data: unknown): string | undefined {
  return typeof data === "string" ? /^data:([^;,]+)/.exec(data.slice(0, 200))?.[1] : undefined;
}

function stringIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
