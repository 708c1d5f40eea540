import { isBaseMessage } from "@langchain/core/messages";

const own = ["content", "id", "name", "tool_calls", "invalid_tool_calls", "tool_call_chunks", "tool_call_id", "status"];

/** A value with messages by their class and fields, so that it can be compared. */
export function plain(value: unknown): unknown {
  if (typeof value === "bigint" || value instanceof Date) {
    return String(value);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  const entries = Object.entries(value);
  if (!isBaseMessage(value)) {
    const { toJSON } = value as { readonly toJSON?: () => unknown };
    if (toJSON !== undefined && value.constructor !== Object) {
      return plain(toJSON.call(value));
    }
    return Object.fromEntries(entries.map(([key, each]) => [key, plain(each)]));
  }
  const fields = entries.filter(([key]) => [...own, "artifact", "additional_kwargs"].includes(key));
  return [
    value.constructor.name,
    ...fields.sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, each]) => [key, plain(each)]),
  ];
}
