import { defaultToolCallParser } from "@langchain/core/messages/tool";
import { isRecord } from "../messages/values.js";

/**
 * Type and fields of a foreign record: LangChain's `{ type, data }` as JavaScript and Python write it, or the older `{
 * type, role, text }`. Takes ownership of the record.
 *
 * @throws Error for any other format.
 */
export function normalizeForeign(stored: Record<string, unknown>): { type: string; data: Record<string, unknown> } {
  const { data: given = { content: stored["text"], role: stored["role"] } } = stored;
  if (!isRecord(given)) {
    throw new Error("its data is not an object");
  }
  const data = unescapeProperties(dropEmpty(given));
  const type = normalizeType(stored["type"] as string, data);
  data["content"] = normalizeContent(data);
  delete data["content_blocks"];
  delete data["type"];
  delete data["tool_call_chunks"];
  if (type === "ai") {
    normalizeCalls(data);
  }
  return { type, data };
}

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
    return isRecord(content) ? [content] : (content ?? []);
  }
  return content.map((block: unknown) => (typeof block === "string" ? { type: "text", text: block } : block));
}

/** Records from before LangChain parsed tool calls hold only the provider's raw ones. */
function normalizeCalls(data: Record<string, unknown>): void {
  const { additional_kwargs: details, tool_calls: calls } = data;
  const raw = isRecord(details) ? details["tool_calls"] : undefined;
  if (calls === undefined && Array.isArray(raw) && raw.every(isRecord)) {
    const [parsed, invalid] = defaultToolCallParser(raw);
    data["tool_calls"] = parsed;
    data["invalid_tool_calls"] = invalid;
  }
  for (const list of [data["tool_calls"], data["invalid_tool_calls"]]) {
    for (const call of Array.isArray(list) ? list : []) {
      if (isRecord(call) && call["id"] === null) {
        delete call["id"];
      }
    }
  }
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
