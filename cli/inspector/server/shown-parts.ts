import type { BaseMessage } from "@langchain/core/messages";
import { blocksOf, type Block } from "../../../src/conversation/messages/content.js";
import { roleOf, stringIn } from "../../../src/conversation/messages/message.js";
import { jsonText } from "../../../src/base/json-text.js";
import { type Media, mediaIn } from "../../../src/conversation/messages/media.js";
import { whole } from "../model/figures-in-words.js";
import type { ShownPart } from "../model/data.js";
import { indentedJson, cutText, readableText } from "./readable-text.js";

/** Characters of a text that go to the page at first; the reader asks for the rest. */
export const foldedLength = 4_000;
const mostParts = 100;
/** Characters of the longest picture, recording or film that is shown or played. */
const longestMedia = 6_000_000;
const longestAddress = 500;

/** A message's content, part by part, in order. Long texts are cut. */
export function partsOf(message: BaseMessage): ShownPart[] {
  return blocksOf(message)
    .slice(0, mostParts)
    .map((block) => jsonPart("JSON", jsonIn(message, block)) ?? partOf(block));
}

/** The whole text of a part: what {@link partsOf} cuts. */
export function textOfPart(message: BaseMessage, index: number): string | undefined {
  const block = blocksOf(message)[index];
  return block === undefined
    ? undefined
    : (jsonIn(message, block) ?? wordsOf(block)?.text ?? laidOut(block) ?? asText(block));
}

function jsonPart(what: string, json: string | undefined): ShownPart | undefined {
  if (json === undefined) {
    return undefined;
  }
  const { text, length } = cutText(json, { limit: foldedLength });
  return { kind: "json", what, text, length };
}

/** A tool's answer in JSON, with a line for each value; undefined for anything else. */
function jsonIn(message: BaseMessage, block: Block): string | undefined {
  const words = roleOf(message) === "tool" ? wordsOf(block) : undefined;
  return words?.kind === "text" ? indentedJson(words.text) : undefined;
}

function partOf(block: Block): ShownPart {
  const words = wordsOf(block);
  if (words !== undefined) {
    const { text, length } = cutText(words.text, { limit: foldedLength });
    return { kind: words.kind, text, length };
  }
  const media = mediaIn(block);
  if (media !== undefined) {
    return mediaPart(media);
  }
  const { text, length } = cutText(asText(block), { limit: foldedLength });
  const what = readableText(stringIn(block.type) ?? "unknown").slice(0, 60);
  return jsonPart(what, laidOut(block)) ?? { kind: "other", what, text, length };
}

/** The picture, player or description of media. The browser gets only data of the message, and asks nobody for more. */
function mediaPart(media: Media): ShownPart {
  const { kind, data, mimeType } = media;
  const type = mimeType ?? (kind === "image" ? "image/png" : "");
  const isShown =
    data !== undefined && data.length <= longestMedia && shownTypes.test(type) && /^[\w+/=\s-]*$/.test(data);
  return {
    kind: "media",
    what: kind,
    text: readableText(factsOf(media).join(", ")),
    ...(isShown && { url: `data:${type};base64,${data}` }),
  };
}

const shownTypes = /^(?:image\/(?:png|jpeg|jpg|gif|webp|avif|bmp)|(?:audio|video)\/[\w.+-]+)$/i;

/** Name, type, size and place of media. */
function factsOf({ name, mimeType, data, url, fileId }: Media): string[] {
  const size = data === undefined ? undefined : `${whole(Math.floor(data.replace(/=+$/, "").length * 0.75))} bytes`;
  const place = url?.startsWith("data:") ? url.slice(0, 60) : url?.slice(0, longestAddress);
  return [name, mimeType, size, place && `${place}, not loaded`, fileId && `the provider's file ${fileId}`].filter(
    (fact) => fact !== undefined && fact !== "",
  ) as string[];
}

function wordsOf(block: Block): { readonly kind: "text" | "reasoning"; readonly text: string } | undefined {
  const { type, text, reasoning, thinking } = block;
  if (typeof text === "string" && (type === "text" || type === "text-plain" || type === "input_text")) {
    return { kind: "text", text };
  }
  const thought = stringIn(reasoning) ?? stringIn(thinking);
  return thought === undefined ? undefined : { kind: "reasoning", text: thought };
}

function laidOut(block: Block): string | undefined {
  return indentedJson(asText(block));
}

function asText(block: Block): string {
  return jsonText(block) ?? "";
}
