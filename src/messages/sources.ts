import type { BaseMessage } from "@langchain/core/messages";
import type { Fields } from "./values.js";

/** The stored fields that messages were made of. */
const sources = new WeakMap<BaseMessage, Fields>();

/** The fields that rules for single messages read, of answers and results. */
const compared = [
  "content",
  "tool_calls",
  "invalid_tool_calls",
  "name",
  "id",
  "tool_call_id",
  "additional_kwargs",
  "response_metadata",
] as const;

/** Notes the stored fields that a message is made of, which never change and lie in JSON as they are. */
export function noteSource(message: BaseMessage, fields: Fields): void {
  sources.set(message, fields);
}

/**
 * The stored fields that a message repeats: one object for all messages that were made of them, so that what was found
 * out about one holds for the next. Undefined for a message that was changed since, also inside of its fields.
 */
export function sourceOf(message: BaseMessage): Fields | undefined {
  const source = sources.get(message);
  return source !== undefined && repeats(message as unknown as Fields, source) ? source : undefined;
}

function repeats(message: Fields, source: Fields): boolean {
  for (const field of compared) {
    const [own, stored] = [message[field], source[field]];
    if (!(stored === undefined ? isEmpty(own) : isSame(own, stored))) {
      return false;
    }
  }
  return true;
}

/** True for what LangChain's constructors set where a field is missing. */
function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

/** True for equal values of JSON. Their texts mostly are the same objects, which takes no time to see. */
function isSame(own: unknown, stored: unknown): boolean {
  if (own === stored) {
    return true;
  }
  if (typeof own !== "object" || typeof stored !== "object" || own === null || stored === null) {
    return false;
  }
  if (Object.getPrototypeOf(own) !== Object.getPrototypeOf(stored)) {
    return false;
  }
  const [keys, storedKeys] = [Object.keys(own), Object.keys(stored)];
  return (
    keys.length === storedKeys.length &&
    keys.every((key) => Object.hasOwn(stored, key) && isSame((own as Fields)[key], (stored as Fields)[key]))
  );
}
