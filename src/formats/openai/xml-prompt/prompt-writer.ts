import { sameJson } from "../../../base/json-value.js";
import type { ContentPart, FunctionToolCall, OpenAIMessage } from "../message.js";
import { escapeAttribute, escapeText, hasIllegalCharacters } from "./xml.js";

/**
 * Writes messages as a prompt: a `chat_history` element with a `message` element for each, as Semantic Kernel does.
 *
 * | in a `message` element | stands for |
 * | --- | --- |
 * | attributes `role`, `name`, `timestamp`, `tool_call_id` | the fields of these names |
 * | text | content that is a string |
 * | `<text>`, `<image>` (its URL) | parts of content that is a list |
 * | `<part>` | any other part, as JSON |
 * | `<function_call id="…" name="…">` | a call, with its arguments |
 * | `<field name="…">` | any other field, as JSON (`<fields>`: several as one JSON object) |
 *
 * The result is always well-formed XML 1.0: content with characters that XML cannot express is written as `<part>` or
 * `<field>`, where JSON escapes them (`\u0000`).
 */
export function writePrompt(messages: readonly OpenAIMessage[]): string {
  return ["<chat_history>", ...messages.map(writeMessage), "</chat_history>"].join("\n");
}

const attributeKeys = ["role", "name", "timestamp", "tool_call_id"];

function writeMessage(message: OpenAIMessage): string {
  const { content, tool_calls: calls, ...others } = message;
  const attributes: string[] = [];
  const children: string[] = [];
  if (calls !== undefined) {
    children.push(
      ...(calls.length > 0 && calls.every(isPlainCall) ? calls.map(writeCall) : [writeField("tool_calls", calls)]),
    );
  }
  for (const [key, value] of Object.entries(others)) {
    if (attributeKeys.includes(key) && typeof value === "string" && !hasIllegalCharacters(value)) {
      attributes.push(` ${key}="${escapeAttribute(value)}"`);
    } else {
      children.push(writeField(key, value));
    }
  }
  return `<message${attributes.join("")}>${writeContent(content, children.length > 0)}${children.join("")}</message>`;
}

/**
 * If there are other children, blank text would be read as indentation and empty text as no content, so these are
 * written as fields.
 */
function writeContent(content: OpenAIMessage["content"], hasChildren: boolean): string {
  if (content === undefined) {
    return "";
  }
  if (typeof content === "string") {
    const plain = !hasIllegalCharacters(content) && (content.trim() !== "" || !hasChildren);
    return plain ? escapeText(content) : writeField("content", content);
  }
  return content === null || content.length === 0 ? writeField("content", content) : content.map(writePart).join("");
}

function writePart(part: ContentPart): string {
  if (part.type === "text" && sameJson(part, { type: "text", text: part.text }) && !hasIllegalCharacters(part.text)) {
    return `<text>${escapeText(part.text)}</text>`;
  }
  if (
    part.type === "image_url" &&
    sameJson(part, imagePart(part.image_url.url)) &&
    !hasIllegalCharacters(part.image_url.url)
  ) {
    return `<image>${escapeText(part.image_url.url)}</image>`;
  }
  return `<part>${writeJson(part)}</part>`;
}

/** Creates the part that an `<image>` element stands for. */
export function imagePart(url: string): ContentPart {
  return { type: "image_url", image_url: { url } };
}

function isPlainCall(call: object): call is FunctionToolCall {
  const { id, function: called } = call as FunctionToolCall;
  return (
    called !== undefined &&
    sameJson(call, { id, type: "function", function: { name: called.name, arguments: called.arguments } }) &&
    ![id, called.name, called.arguments].some(hasIllegalCharacters)
  );
}

function writeCall({ id, function: called }: FunctionToolCall): string {
  const attributes = `id="${escapeAttribute(id)}" name="${escapeAttribute(called.name)}"`;
  return `<function_call ${attributes}>${escapeText(called.arguments)}</function_call>`;
}

/** A field's name may contain illegal characters too; then it is escaped as JSON. */
function writeField(key: string, value: unknown): string {
  return hasIllegalCharacters(key)
    ? `<fields>${writeJson({ [key]: value })}</fields>`
    : `<field name="${escapeAttribute(key)}">${writeJson(value)}</field>`;
}

/** JSON escapes control characters and lone surrogates, but not these two characters. */
function writeJson(value: unknown): string {
  return escapeText(
    JSON.stringify(value).replace(/[\uFFFE\uFFFF]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`),
  );
}
