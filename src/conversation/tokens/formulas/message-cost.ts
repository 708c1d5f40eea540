import type { BaseMessage } from "@langchain/core/messages";
import { Buffer } from "node:buffer";
import { answeredId, callsOf, type Call, type Block } from "../../messages/content.js";
import { wireRoleOf, fieldsOf, stringIn, type Fields } from "../../messages/message.js";
import { mediaIn, type Media, type MediaKind } from "../../messages/media.js";
import { jsonText } from "../../../base/json-text.js";

/** Tokens that a request costs besides its messages: the reply is primed with `<|start|>assistant<|message|>`. */
export const replyTokens = 3;

const tokensPerMessage = 3;
const tokensPerName = 1;
const tokensPerCall = 3;

/**
 * A message's cost by OpenAI's formula ("How to count tokens with tiktoken", OpenAI Cookbook): 3, and the tokens of
 * each value that the message carries (role, content, name), and 1 if it has a name.
 *
 * The formula is published for messages without tool calls. Its rule is kept for them: a call costs 3 (it is shown to
 * the model as a message of its own) and the tokens of its id, its name and its arguments as they go over the wire
 * (compact JSON); a tool result costs those of its `tool_call_id`. OpenAI may not show ids to the model: then the count
 * is above the bill, by some ten tokens a call.
 */
export function messageCost(message: BaseMessage): Cost {
  const sum = new CostSum();
  sum.tokens = tokensPerMessage;
  sum.addText(wireRoleOf(message));
  if (typeof message.name === "string" && message.name !== "") {
    sum.tokens += tokensPerName;
    sum.addText(message.name);
  }
  const calls = countedCalls(message);
  addContent(sum, message.content, { callsCounted: calls.length > 0 });
  for (const { id, name, args } of calls) {
    sum.tokens += tokensPerCall;
    sum.addText(id);
    sum.addText(name);
    sum.addValue(args);
  }
  sum.addText(answeredId(message));
  return sum;
}

/** The calls of a message; if there are none, the call in OpenAI's old form (`function_call`). */
function countedCalls(message: BaseMessage): readonly Partial<Call>[] {
  const calls = callsOf(message);
  const { function_call: old } = fieldsOf(message.additional_kwargs);
  if (calls.length > 0 || old === undefined) {
    return calls;
  }
  const { name, arguments: args } = fieldsOf(old);
  return [{ name: stringIn(name) ?? "", args }];
}

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
function addContent(sum: CostSum, content: unknown, { callsCounted }: { callsCounted: boolean }): void {
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

/** Base64 characters of an image that are decoded to find its size; a JPEG may carry a preview before it. */
const imageHeadCharacters = 524_288;
/** An image whose size is not known counts as one of 1024 × 1024. */
const assumedImage: ImageSize = { width: 1_024, height: 1_024 };
const assumedSeconds = 60;
const bytesPerSecond = { wav: 48_000, otherAudio: 16_000, video: 250_000 };
const tokensPerSecond = { audio: 10, video: 263 };
const bytesPerPage = 50_000;
const tokensPerPage = 1_500;
const assumedPages = 2;

/**
 * Adds what a medium costs.
 *
 * - Images: {@link imageTokens}; the size is read from the header, and 1024 × 1024 is assumed for a link or an id (765
 *   tokens).
 * - Audio: 10 tokens a second (OpenAI: one per 100 ms), length from the size at 48 kB/s for WAV, else 16 kB/s; a minute
 *   for a link.
 * - Video: 263 tokens a second (Google's figure), length from the size at 250 kB/s; a minute for a link.
 * - Text files: their text. Other files: 1,500 tokens a page (the lower of Anthropic's figures for PDF), a page per 50
 *   kB; two pages for a link.
 */
function addMediaCost(sum: CostSum, media: Media): void {
  adders[media.kind](sum, media);
}

const adders: Readonly<Record<MediaKind, (sum: CostSum, media: Media) => void>> = {
  image: (sum, media) => (sum.tokens += imageTokens(sizeOf(media) ?? assumedImage, media.detail)),
  audio: (sum, media) => (sum.tokens += secondsTokens(media, "audio")),
  video: (sum, media) => (sum.tokens += secondsTokens(media, "video")),
  file: addFile,
};

/**
 * OpenAI's tiles: detail `low` is 85; else the image is scaled down to fit 2048 × 2048, then until its shorter side is
 * at most 768, and each started tile of 512 × 512 costs 170, plus 85 (OpenAI's guide to images; other models of theirs
 * use other constants).
 */
export function imageTokens({ width, height }: ImageSize, detail?: string): number {
  if (detail === "low") {
    return 85;
  }
  const scale = Math.min(1, 2_048 / Math.max(width, height), 768 / Math.min(width, height));
  const tiles = Math.ceil(rounded((width * scale) / 512)) * Math.ceil(rounded((height * scale) / 512));
  return 85 + 170 * tiles;
}

/** Without the last digits, so that 512 pixels that were scaled to 512.0000001 are one tile. */
function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

function sizeOf({ data, detail }: Media): ImageSize | undefined {
  const isSized = data !== undefined && detail !== "low";
  return isSized ? imageSize(Buffer.from(data.slice(0, imageHeadCharacters), "base64")) : undefined;
}

function secondsTokens({ data, mimeType = "" }: Media, kind: "audio" | "video"): number {
  const rate =
    kind === "video" ? bytesPerSecond.video : mimeType.includes("wav") ? bytesPerSecond.wav : bytesPerSecond.otherAudio;
  return Math.ceil((data === undefined ? assumedSeconds : byteLength(data) / rate) * tokensPerSecond[kind]);
}

function addFile(sum: CostSum, { data, mimeType = "" }: Media): void {
  if (data === undefined) {
    sum.tokens += assumedPages * tokensPerPage;
  } else if (/^text\/|[/+](json|xml|yaml)\b/.test(mimeType)) {
    sum.addText(Buffer.from(data, "base64").toString());
  } else {
    sum.tokens += Math.ceil(Math.max(1, byteLength(data)) / bytesPerPage) * tokensPerPage;
  }
}

function byteLength(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}

/** Width and height in pixels. */
interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The size that the header of a PNG, JPEG, GIF or WebP image gives; undefined for other or incomplete data. */
export function imageSize(bytes: Uint8Array): ImageSize | undefined {
  const size = pngSize(bytes) ?? gifSize(bytes) ?? webpSize(bytes) ?? jpegSize(bytes);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

function pngSize(bytes: Uint8Array): ImageSize | undefined {
  return textAt(bytes, 1, 3) === "PNG" ? { width: big(bytes, 16, 4), height: big(bytes, 20, 4) } : undefined;
}

function gifSize(bytes: Uint8Array): ImageSize | undefined {
  return textAt(bytes, 0, 4) === "GIF8" ? { width: little(bytes, 6, 2), height: little(bytes, 8, 2) } : undefined;
}

function webpSize(bytes: Uint8Array): ImageSize | undefined {
  if (textAt(bytes, 0, 4) !== "RIFF" || textAt(bytes, 8, 4) !== "WEBP") {
    return undefined;
  }
  switch (textAt(bytes, 12, 4)) {
    case "VP8 ":
      return { width: little(bytes, 26, 2) & 0x3fff, height: little(bytes, 28, 2) & 0x3fff };
    case "VP8L": {
      const packed = little(bytes, 21, 4);
      return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: little(bytes, 24, 3) + 1, height: little(bytes, 27, 3) + 1 };
    default:
      return undefined;
  }
}

/** Walks the segments to the frame header (SOF0 to SOF15; C4, C8 and CC are other things). */
function jpegSize(bytes: Uint8Array): ImageSize | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) {
    return undefined;
  }
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff;) {
    const marker = bytes[at + 1]!;
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return { width: big(bytes, at + 7, 2), height: big(bytes, at + 5, 2) };
    }
    at += marker === 0xff ? 1 : 2 + big(bytes, at + 2, 2);
  }
  return undefined;
}

function textAt(bytes: Uint8Array, from: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(from, from + length));
}

function big(bytes: Uint8Array, from: number, length: number): number {
  return bytes.subarray(from, from + length).reduce((value, byte) => value * 256 + byte, 0);
}

function little(bytes: Uint8Array, from: number, length: number): number {
  return bytes.subarray(from, from + length).reduceRight((value, byte) => value * 256 + byte, 0);
}

/** A cost in tokens before its texts are tokenized, so that one formula serves every counter. */
export interface Cost {
  /** Texts whose tokens are to be added; each is tokenized by itself. */
  readonly texts: readonly string[];
  /** Tokens that no encoding decides: overhead, images, audio, files. */
  readonly tokens: number;
}

/** Adds up a {@link Cost}. */
export class CostSum implements Cost {
  readonly texts: string[] = [];
  tokens = 0;

  addText(text: unknown): void {
    if (typeof text === "string" && text !== "") {
      this.texts.push(text);
    }
  }

  /** Adds a value as it goes over the wire: a string as it is, anything else as JSON. */
  addValue(value: unknown): void {
    this.addText(typeof value === "string" ? value : jsonText(value));
  }
}
