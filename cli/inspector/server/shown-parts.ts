import type { BaseMessage } from "@langchain/core/messages";
import { blocksOf, type Block } from "../../../src/messages/content.js";
import { roleOf } from "../../../src/messages/roles.js";
import { fieldsOf, stringIn } from "../../../src/messages/values.js";
import { jsonText } from "../../../src/base/json-text.js";
import type { ShownPart } from "../model/data.js";
import { indentedJson } from "./indented-json.js";
import { cutText, readableText } from "./readable-text.js";

/** Characters of a text that go to the page at first; the reader asks for the rest. */
export const foldedLength = 4_000;
const mostParts = 100;
const longestImage = 6_000_000;
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
  const address = imageAddress(block);
  if (address !== undefined) {
    return imagePart(address);
  }
  const { text, length } = cutText(asText(block), { limit: foldedLength });
  const what = readableText(stringIn(block.type) ?? "unknown").slice(0, 60);
  return jsonPart(what, laidOut(block)) ?? { kind: "other", what, text, length };
}

/** Nothing but what is in the message is shown as an image: the browser asks nobody for it. */
function imagePart(address: string): ShownPart {
  if (/^data:image\/(?:png|jpeg|jpg|gif|webp|avif|bmp);base64,[\w+/=\s-]*$/i.test(address.slice(0, longestImage))) {
    return address.length <= longestImage
      ? { kind: "image", url: address }
      : { kind: "address", what: "image", text: `${Math.round(address.length / 1_000_000)} MB, not shown` };
  }
  const text = address.startsWith("data:") ? address.slice(0, 60) : address.slice(0, longestAddress);
  return { kind: "address", what: "image", text: readableText(text) };
}

function wordsOf(block: Block): { readonly kind: "text" | "reasoning"; readonly text: string } | undefined {
  const { type, text, reasoning, thinking } = block;
  if (typeof text === "string" && (type === "text" || type === "text-plain" || type === "input_text")) {
    return { kind: "text", text };
  }
  const thought = stringIn(reasoning) ?? stringIn(thinking);
  return thought === undefined ? undefined : { kind: "reasoning", text: thought };
}

/** The address of an image in LangChain's, OpenAI's or Anthropic's form. */
function imageAddress(block: Block): string | undefined {
  if (block.type !== "image_url" && block.type !== "image") {
    return undefined;
  }
  const given = block["image_url"] ?? block["url"];
  const source = fieldsOf(block["source"]);
  const url = stringIn(given) ?? stringIn(fieldsOf(given)["url"]) ?? stringIn(source["url"]);
  if (url !== undefined) {
    return url;
  }
  const data = bytesIn(block["data"] ?? source["data"]);
  const mime = [block["mimeType"], block["mime_type"], source["media_type"], "image/png"].find(stringIn);
  return data === undefined ? undefined : `data:${String(mime)};base64,${data}`;
}

function bytesIn(data: unknown): string | undefined {
  return data instanceof Uint8Array ? Buffer.from(data).toString("base64") : stringIn(data);
}

function laidOut(block: Block): string | undefined {
  return indentedJson(asText(block));
}

function asText(block: Block): string {
  return jsonText(block) ?? "";
}
