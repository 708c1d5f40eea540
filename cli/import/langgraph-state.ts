import type { BaseMessage } from "@langchain/core/messages";
import { reviveMessage } from "../../src/codec/decode-record.js";
import { isRecord } from "../../src/messages/values.js";
import { DataError } from "../failure.js";

/**
 * The messages of a thread, from its state as JSON: what `graph.getState(config)` returns, a checkpoint with
 * `channel_values`, an object with `messages`, or the list. Messages may be LangChain's serialized objects, `{ type,
 * data }`, or flat as LangGraph's server shows them.
 *
 * @throws DataError, RecordError.
 */
export function messagesOfState(value: unknown): BaseMessage[] {
  const messages = messagesIn(value);
  if (messages === undefined) {
    throw new DataError('the state has no list "messages"');
  }
  return messages.map((message, index) => reviveMessage(storedForm(message, index), index));
}

function messagesIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) {
    return value;
  }
  if (!isRecord(value)) {
    return undefined;
  }
  const places = [value["messages"], value["values"], value["channel_values"], value["checkpoint"]];
  return places.map(messagesIn).find((found) => found !== undefined);
}

/** LangChain's `{ type, data }` of a message. */
function storedForm(message: unknown, index: number): Record<string, unknown> {
  if (!isRecord(message)) {
    throw new DataError(`message ${index} is no object`);
  }
  const { id, kwargs, type, role, data, ...fields } = message;
  if (message["lc"] === 1 && Array.isArray(id) && isRecord(kwargs)) {
    const name = String(id.at(-1)).replace(/Message(Chunk)?$/, "");
    return { type: name === "AI" ? "ai" : name.charAt(0).toLowerCase() + name.slice(1), data: structuredClone(kwargs) };
  }
  if (typeof type === "string" && isRecord(data)) {
    return { type, data: structuredClone(data) };
  }
  const kind = typeof type === "string" ? type : roles.get(role);
  if (kind === undefined) {
    throw new DataError(`message ${index} has no type`);
  }
  return { type: kind, data: { ...structuredClone(fields), ...(typeof id === "string" && { id }) } };
}

const roles: ReadonlyMap<unknown, string> = new Map([
  ["user", "human"],
  ["assistant", "ai"],
  ["system", "system"],
  ["tool", "tool"],
]);
