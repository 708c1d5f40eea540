import { defaultToolCallParser } from "@langchain/core/messages/tool";
import { isRecord } from "../../conversation/messages/message.js";

/**
 * Type and fields of a foreign record: LangChain's `{ type, data }` as JavaScript and Python write it, its serialized
 * objects, the older `{ type, role, text }`, or flat fields with a type or a role. Takes ownership of the record.
 *
 * @throws Error for any other format, and for a record without content.
 */
export function normalizeForeign(stored: Record<string, unknown>): { type: string; data: Record<string, unknown> } {
  const { type: named, data: fields } = foreignForm(stored);
  const data = unescapeProperties(dropEmpty(fields));
  const type = normalizeType(named, data);
  data["content"] = normalizeContent(data);
  delete data["content_blocks"];
  delete data["type"];
  delete data["tool_call_chunks"];
  const calls = type === "ai" && normalizeCalls(data);
  if (data["content"] === undefined && !calls) {
    throw new Error("it has no content");
  }
  data["content"] ??= "";
  return { type, data };
}

/** The name of the type, and the fields, wherever the format keeps them. */
function foreignForm(stored: Record<string, unknown>): { type: string; data: Record<string, unknown> } {
  const { type, role, data, text, ...fields } = stored;
  if (stored["lc"] === 1 && Array.isArray(stored["id"]) && isRecord(stored["kwargs"])) {
    return { type: String(stored["id"].at(-1)).replace(/Message(Chunk)?$/, ""), data: stored["kwargs"] };
  }
  const name = typeof type === "string" && type !== "message" ? type : role;
  const kind = typeOfRole.get(name) ?? (name === type ? String(name) : "generic");
  if (data !== undefined && data !== null) {
    if (!isRecord(data)) {
      throw new Error("its data is not an object");
    }
    return { type: kind, data };
  }
  const id = typeof fields["id"] === "number" ? String(fields["id"]) : fields["id"];
  const isNamed = kind === "generic" || kind === "chat";
  return { type: kind, data: { ...fields, id, content: fields["content"] ?? text, ...(isNamed && { role }) } };
}

/** Types by the roles of OpenAI's format. */
const typeOfRole: ReadonlyMap<unknown, string> = new Map([
  ["user", "human"],
  ["assistant", "ai"],
  ...["human", "ai", "system", "developer", "tool", "function"].map((name) => [name, name] as const),
]);

/** Python names chunks by class and a generic message `chat`. */
function normalizeType(type: string, data: Record<string, unknown>): string {
  const whole = type.replace(/(?:Message)?Chunk$/, "");
  const name = whole === "AI" ? "ai" : whole.charAt(0).toLowerCase() + whole.slice(1);
  if (name === "chat") {
    return "generic";
  }
  if (name === "developer") {
    data["additional_kwargs"] = { ...(data["additional_kwargs"] as object | undefined), __openai_role__: "developer" };
    return "system";
  }
  return name;
}

/** LangChain stores messages made from `contentBlocks` under a field name that its own reader ignores. */
function normalizeContent(data: Record<string, unknown>): unknown {
  const { content, content_blocks: blocks } = data;
  if (content === undefined && Array.isArray(blocks)) {
    data["response_metadata"] = { output_version: "v1", ...(data["response_metadata"] as object | undefined) };
    return blocks;
  }
  if (!Array.isArray(content)) {
    return isRecord(content) ? [content] : content;
  }
  return content.map((block: unknown) => (typeof block === "string" ? { type: "text", text: block } : block));
}

/**
 * Records from before LangChain parsed tool calls hold only the provider's raw ones, and flat ones may hold these in
 * their place. Returns whether there are calls.
 */
function normalizeCalls(data: Record<string, unknown>): boolean {
  const { additional_kwargs: details, tool_calls: toolCalls } = data;
  const isRaw = Array.isArray(toolCalls) && toolCalls.some((call) => isRecord(call) && isRecord(call["function"]));
  const raw = isRaw ? toolCalls : isRecord(details) ? details["tool_calls"] : undefined;
  const calls = isRaw ? undefined : toolCalls;
  if (isRaw) {
    data["additional_kwargs"] = { ...(details as object | undefined), tool_calls: toolCalls };
  }
  if (calls === undefined && Array.isArray(raw) && raw.every(isRecord)) {
    const [parsed, invalid] = defaultToolCallParser(raw);
    data["tool_calls"] = parsed;
    data["invalid_tool_calls"] = invalid;
  }
  const made = [data["tool_calls"], data["invalid_tool_calls"]].flatMap((list): unknown[] =>
    Array.isArray(list) ? list : [],
  );
  for (const call of made) {
    if (isRecord(call) && call["id"] === null) {
      delete call["id"];
    }
  }
  return made.length > 0;
}

/** Python writes null for missing fields. */
function dropEmpty(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null && value !== undefined));
}

/**
 * `toDict` wraps objects that have a key `lc` as `{ __lc_escaped__: … }`, and LangChain's own reader leaves them so.
 */
function unescapeProperties(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).map(([field, value]) => [field, unescapeValue(value)]));
}

function unescapeValue(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(unescapeValue);
  }
  if (!isRecord(value)) {
    return value;
  }
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0] === escapeKey && isRecord(value[escapeKey])
    ? value[escapeKey]
    : unescapeProperties(value);
}

const escapeKey = "__lc_escaped__";
