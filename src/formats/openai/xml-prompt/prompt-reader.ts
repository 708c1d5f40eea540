import { ConfigurationError } from "../../../base/errors.js";
import { imagePart } from "./prompt-writer.js";
import { parseXml, type XmlElement, type XmlNode } from "./xml.js";

type Message = Record<string, unknown>;

/**
 * Reads the messages of a prompt without checking them; the counterpart of `writePrompt`. Around and between `message`
 * elements, Semantic Kernel's rules apply:
 *
 * - Text before the first message is a system message; text after a message is a user message. Both are trimmed.
 * - Unknown elements (HTML, for example) stay text as written and belong to the text around them; directly after a
 *   message, they belong to that message.
 * - Text without any message is a user message.
 * - A prompt that is not XML is one user message, unchanged.
 *
 * @throws ConfigurationError for a `part`, `field` or `fields` element without valid JSON.
 */
export function readPrompt(prompt: string): Message[] {
  const nodes = parseXml(prompt);
  if (nodes === undefined) {
    return [{ role: "user", content: prompt }];
  }
  const messages: Message[] = [];
  let loose: XmlNode[] = [];
  for (const node of nodes.flatMap((child) => (isElement(child, "chat_history") ? child.children : [child]))) {
    if (isElement(node, "message")) {
      addLoose(prompt, loose, messages);
      for (const message of readMessage(prompt, node)) {
        messages.push(message);
      }
      loose = [];
    } else {
      loose.push(node);
    }
  }
  const bare = messages.length === 0;
  addLoose(prompt, loose, messages);
  return bare ? messages.map((message) => ({ ...message, role: "user" })) : messages;
}

/** Adds what is between messages; elements before its first word belong to the previous message. */
function addLoose(prompt: string, nodes: readonly XmlNode[], messages: Message[]): void {
  const previous = messages.at(-1);
  const firstWord = nodes.findIndex((node) => typeof node === "string" && node.trim() !== "");
  const own = previous === undefined ? 0 : firstWord === -1 ? nodes.length : firstWord;
  const glued = verbatim(prompt, nodes.slice(0, own)).trim();
  if (previous !== undefined && glued !== "") {
    const { content } = previous;
    previous["content"] = Array.isArray(content)
      ? [...(content as unknown[]), { type: "text", text: glued }]
      : `${(content as string | undefined) ?? ""}${glued}`;
  }
  const text = verbatim(prompt, nodes.slice(own)).trim();
  if (text !== "") {
    messages.push({ role: previous === undefined ? "system" : "user", content: text });
  }
}

/** Returns the message of an element; several if it holds several results. */
function readMessage(prompt: string, element: XmlElement): Message[] {
  const attributes = Object.fromEntries(
    ["role", "name", "timestamp", "tool_call_id"].flatMap((key) => entryOf(key, element.attributes.get(key))),
  );
  const body: XmlNode[] = [];
  const calls: object[] = [];
  const results: Message[] = [];
  const given: [string, unknown][] = [];
  for (const child of element.children) {
    if (isElement(child, "function_call")) {
      calls.push(readCall(prompt, child));
    } else if (isElement(child, "function_result")) {
      results.push(readResult(prompt, child));
    } else if (isElement(child, "field")) {
      given.push([child.attributes.get("name") ?? "", readJson(prompt, child)]);
    } else if (isElement(child, "fields")) {
      Object.entries(readJson(prompt, child) ?? {}).forEach((entry) => given.push(entry));
    } else {
      body.push(child);
    }
  }
  const fields = Object.fromEntries(given);
  const content = readContent(prompt, body, body.length < element.children.length);
  const said = { ...(content !== undefined && { content }), ...(calls.length > 0 && { tool_calls: calls }) };
  const own = { ...attributes, ...said, ...fields };
  const answers = results.map((result) => ({ ...attributes, ...fields, ...result }));
  return answers.length > 0 ? [...(Object.keys(said).length > 0 ? [own] : []), ...answers] : [own];
}

/** Returns a list if there are parts, otherwise text; undefined if there is only white space beside other elements. */
function readContent(prompt: string, body: readonly XmlNode[], hasOthers: boolean): string | object[] | undefined {
  if (body.some((node) => typeof node !== "string" && partNames.has(node.name))) {
    return body.flatMap((node) => readPart(prompt, node));
  }
  const text = verbatim(prompt, body);
  return hasOthers && text.trim() === "" ? undefined : text;
}

const partNames = new Set(["text", "image", "part"]);

function readPart(prompt: string, node: XmlNode): object[] {
  if (isElement(node, "image")) {
    return [imagePart(node.attributes.get("uri") ?? innerText(prompt, node))];
  }
  if (isElement(node, "part")) {
    return [readJson(prompt, node) as object];
  }
  const text = isElement(node, "text") ? innerText(prompt, node) : verbatim(prompt, [node]);
  return isElement(node, "text") || text.trim() !== "" ? [{ type: "text", text }] : [];
}

function readCall(prompt: string, element: XmlElement): object {
  const { id = "", name = "" } = Object.fromEntries(element.attributes);
  return { id, type: "function", function: { name, arguments: innerText(prompt, element) } };
}

/** Semantic Kernel writes results as elements with the id of their call. */
function readResult(prompt: string, element: XmlElement): Message {
  const { call_id: callId, id, name } = Object.fromEntries(element.attributes);
  return {
    role: "tool",
    content: innerText(prompt, element),
    tool_call_id: callId ?? id ?? "",
    ...(name !== undefined && { name }),
  };
}

function readJson(prompt: string, element: XmlElement): unknown {
  try {
    return JSON.parse(innerText(prompt, element));
  } catch {
    throw new ConfigurationError(
      "prompt",
      `MessageHistory.fromPrompt: the <${element.name}> element at character ${element.start} must contain valid JSON.`,
    );
  }
}

function innerText(prompt: string, element: XmlElement): string {
  return verbatim(prompt, element.children);
}

function verbatim(prompt: string, nodes: readonly XmlNode[]): string {
  return nodes.map((node) => (typeof node === "string" ? node : prompt.slice(node.start, node.end))).join("");
}

function isElement(node: XmlNode, name: string): node is XmlElement {
  return typeof node !== "string" && node.name === name;
}

function entryOf(key: string, value: string | undefined): [string, string][] {
  return value === undefined ? [] : [[key, value]];
}
