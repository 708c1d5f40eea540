import { Buffer } from "node:buffer";
import type { Media, MediaKind } from "../../messages/media.js";
import type { CostSum } from "./cost.js";
import { imageSize, type ImageSize } from "./image-size.js";

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
export function addMediaCost(sum: CostSum, media: Media): void {
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
