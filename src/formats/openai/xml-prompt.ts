import { ConfigurationError } from "../../base/errors.js";
import { isPlainObject } from "../../base/json.js";
import type { OpenAIMessage } from "./message.js";

type Message = Record<string, unknown>;

const attributeNames = ["role", "name", "timestamp", "tool_call_id"];

/**
 * Writes messages as XML: a `chat_history` with a `message` element for each. Role, name, time and answered call are
 * attributes, content that is a string is the text. All else is one `fields` element of JSON, as is what XML 1.0 cannot
 * express.
 */
export function writePrompt(messages: readonly OpenAIMessage[]): string {
  return ["<chat_history>", ...messages.map(writeMessage), "</chat_history>"].join("\n");
}

function writeMessage({ content, ...others }: OpenAIMessage): string {
  const entries: [string, unknown][] = Object.entries(others);
  const isAttribute = ([name, value]: [string, unknown]) => attributeNames.includes(name) && isExpressible(value);
  const attributes = entries
    .filter(isAttribute)
    .map(([name, value]) => ` ${name}="${escapeAttribute(value as string)}"`);
  const fields = entries.filter((entry) => !isAttribute(entry));
  // Blank text in front of fields would be read as white space.
  const isText = isExpressible(content) && (content.trim() !== "" || fields.length === 0);
  const rest = Object.fromEntries(isText || content === undefined ? fields : [...fields, ["content", content]]);
  const json = isText && fields.length === 0 ? "" : `<fields>${escapeText(jsonOf(rest))}</fields>`;
  return `<message${attributes.join("")}>${isText ? escapeText(content) : ""}${json}</message>`;
}

const messageTag = /<message((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*>/g;
const attribute = /([\w:.-]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/g;
const [closingTag, fieldsTag, closingFields] = ["</message>", "<fields>", "</fields>"];

/**
 * Reads the messages of a prompt without checking them: those of `message` elements, and the text around them. Text
 * before the first is a system message, text after one a user message, and text without any a user message; all are
 * trimmed. Other markup is text. Linear in the prompt.
 *
 * @throws ConfigurationError `prompt` for `fields` that are no JSON.
 */
export function readPrompt(prompt: string): Message[] {
  const messages: Message[] = [];
  let end = 0;
  for (const { 0: tag, 1: attributes, index } of prompt.matchAll(messageTag)) {
    const close = index < end ? end : prompt.indexOf(closingTag, index);
    if (close < 0) {
      break;
    }
    if (index >= end) {
      addText(messages, prompt.slice(end, index), "system");
      messages.push(readMessage(attributes!, prompt.slice(index + tag.length, close)));
      end = close + closingTag.length;
    }
  }
  addText(messages, prompt.slice(end), "user");
  return messages;
}

function addText(messages: Message[], source: string, roleInFront: "system" | "user"): void {
  const content = resolve(source.replace(/<\/?chat_history>/g, "")).trim();
  if (content !== "") {
    messages.push({ role: messages.length === 0 ? roleInFront : "user", content });
  }
}

function readMessage(attributes: string, body: string): Message {
  const named = [...attributes.matchAll(attribute)].filter(([, name]) => attributeNames.includes(name!));
  const own = Object.fromEntries(named.map(([, name, double, single]) => [name, resolve(double ?? single!)]));
  const at = body.trimEnd().endsWith(closingFields) ? body.indexOf(fieldsTag) : -1;
  if (at < 0) {
    return { ...own, content: resolve(body) };
  }
  const text = body.slice(0, at);
  const fields = parseFields(body.slice(at + fieldsTag.length, body.lastIndexOf(closingFields)));
  return { ...own, ...(text.trim() !== "" && { content: resolve(text) }), ...fields };
}

function parseFields(text: string): object {
  try {
    const fields: unknown = JSON.parse(resolve(text));
    return isPlainObject(fields) ? fields : {};
  } catch {
    throw new ConfigurationError("prompt", "MessageHistory.fromPrompt: a <fields> element must hold JSON.");
  }
}

/** JSON escapes control characters and lone surrogates, but not these two characters. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value).replace(/[\uFFFE\uFFFF]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`);
}

/** False for most control characters, U+FFFE, U+FFFF and lone surrogates, which XML 1.0 cannot express. */
function isExpressible(value: unknown): value is string {
  return typeof value === "string" && !/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF\p{Cs}]/u.test(value);
}

const references = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\r": "&#13;",
  "\n": "&#10;",
  "\t": "&#9;",
};

/** A carriage return becomes a reference: XML would read it as a line feed. */
function escapeText(text: string): string {
  return text.replace(/[&<>\r]/g, (character) => references[character as keyof typeof references]);
}

function escapeAttribute(text: string): string {
  return text.replace(/[&<>\r\n\t"]/g, (character) => references[character as keyof typeof references]);
}

const entities = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Resolves character references and XML's five entities; what is none of them stays. */
function resolve(text: string): string {
  return text.replace(
    /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([\da-fA-F]{1,6}));/g,
    (source, name: keyof typeof entities | undefined, decimal?: string, hexadecimal?: string) => {
      const code = decimal !== undefined ? Number(decimal) : parseInt(hexadecimal!, 16);
      const character = name === undefined ? (code <= 0x10ffff ? String.fromCodePoint(code) : "") : entities[name];
      return character !== "" && isExpressible(character) ? character : source;
    },
  );
}
