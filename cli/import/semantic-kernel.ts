import { isRecord } from "../../src/conversation/messages/message.js";
import type { ContentPart, OpenAIMessage } from "../../src/formats/openai/message.js";
import { DataError } from "../failure.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The messages of a ChatHistory as Semantic Kernel serializes it: in .NET a list of `{ Role, Items }`, in Python an
 * object with `messages` of `{ role, items }`. A function of a plugin is called `Plugin-function`, as Semantic Kernel
 * does; each result of a message becomes a message.
 *
 * @throws DataError.
 */
export function messagesOfChatHistory(value: unknown): OpenAIMessage[] {
  const list = Array.isArray(value) ? value : isRecord(value) ? (value["messages"] ?? value["Messages"]) : undefined;
  if (!Array.isArray(list)) {
    throw new DataError("it is no ChatHistory: neither a list nor an object with messages");
  }
  const messages = list.flatMap((message, index) => messagesOf(message, index));
  const system = isRecord(value) ? value["system_message"] : undefined;
  const isNew = typeof system === "string" && messages[0]?.role !== "system";
  return isNew ? [{ role: "system", content: system }, ...messages] : messages;
}

function messagesOf(value: unknown, index: number): OpenAIMessage[] {
  const message = lowered(value);
  const role = roleOf(message["role"]);
  if (role === undefined) {
    throw new DataError(`message ${index} has no role of Semantic Kernel`);
  }
  const items = itemsOf(message, index);
  const results = items.filter(({ kind }) => kind === "functionresult").map(({ item }) => resultOf(item));
  const parts = items.flatMap(({ kind, item }) => partOf(kind, item, index));
  const calls = items
    .filter(({ kind }) => kind === "functioncall")
    .map(({ item }, place) => callOf(item, index, place));
  const name = textIn(message, "authorname") ?? textIn(message, "name");
  if (role === "tool" || (results.length > 0 && parts.length === 0)) {
    return results;
  }
  const said = {
    role,
    ...(parts.length > 0 || calls.length === 0 ? { content: plainOr(parts) } : {}),
    ...(name !== undefined && { name }),
    ...(calls.length > 0 && { tool_calls: calls }),
  } as OpenAIMessage;
  return [said, ...results];
}

/** .NET writes names with capitals, Python without. */
function lowered(value: unknown): Fields {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.map(([name, field]) => [name.toLowerCase().replaceAll("_", ""), field]));
}

const roles: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant", "tool"]);

function roleOf(value: unknown): OpenAIMessage["role"] | undefined {
  const label = isRecord(value) ? lowered(value)["label"] : value;
  const role = typeof label === "string" ? label.toLowerCase() : undefined;
  return roles.has(role) ? (role as OpenAIMessage["role"]) : undefined;
}

interface Item {
  /** Such as `text`, without `Content`. */
  readonly kind: string;
  readonly item: Fields;
}

function itemsOf(message: Fields, index: number): Item[] {
  const { items, content } = message;
  if (!Array.isArray(items) || items.length === 0) {
    return typeof content === "string" ? [{ kind: "text", item: { text: content } }] : [];
  }
  return items.map((value) => {
    const item = lowered(value);
    const type = textIn(item, "$type") ?? textIn(item, "contenttype");
    if (type === undefined) {
      throw new DataError(`an item of message ${index} has no type`);
    }
    return {
      kind: type
        .toLowerCase()
        .replaceAll("_", "")
        .replace(/content$/, ""),
      item,
    };
  });
}

function partOf(kind: string, item: Fields, index: number): ContentPart[] {
  switch (kind) {
    case "text":
    case "streamingtext":
      return [{ type: "text", text: textIn(item, "text") ?? "" }];
    case "image": {
      const data = textIn(item, "data");
      const inline = data && `data:${textIn(item, "mimetype") ?? "image/png"};base64,${data}`;
      const url = textIn(item, "uri") ?? textIn(item, "datauri") ?? inline;
      if (url === undefined) {
        throw new DataError(`an image of message ${index} has neither an address nor data`);
      }
      return [{ type: "image_url", image_url: { url } }];
    }
    case "functioncall":
    case "functionresult":
      return [];
    default:
      throw new DataError(`message ${index} holds an item that is no text, image, call or result`);
  }
}

function plainOr(parts: readonly ContentPart[]): string | ContentPart[] {
  return parts.length <= 1 && parts.every(({ type }) => type === "text")
    ? parts.map((part) => (part as { text: string }).text).join("")
    : [...parts];
}

function callOf(item: Fields, index: number, place: number): NonNullable<OpenAIMessage["tool_calls"]>[number] {
  const args = item["arguments"] ?? {};
  const text = typeof args === "string" ? args : JSON.stringify(args);
  const id = textIn(item, "id") ?? `call-${index}-${place}`;
  return { id, type: "function", function: { name: functionName(item), arguments: text } };
}

function resultOf(item: Fields): OpenAIMessage {
  const result = item["result"] ?? "";
  const id = textIn(item, "callid") ?? textIn(item, "id");
  if (id === undefined) {
    throw new DataError("a result has no id of its call");
  }
  const content = typeof result === "string" ? result : JSON.stringify(result);
  return { role: "tool", tool_call_id: id, content, name: functionName(item) };
}

function functionName(item: Fields): string {
  const [plugin, name] = [textIn(item, "pluginname"), textIn(item, "functionname")];
  return name === undefined ? (textIn(item, "name") ?? "function") : plugin === undefined ? name : `${plugin}-${name}`;
}

function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
