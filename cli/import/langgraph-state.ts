import type { BaseMessage } from "@langchain/core/messages";
import { reviveMessage } from "../../src/store/codec/decode-record.js";
import { isRecord } from "../../src/conversation/messages/message.js";
import { DataError } from "../failure.js";

/**
 * The messages of a thread, from its state as JSON: what `graph.getState(config)` returns, a checkpoint with
 * `channel_values`, an object with `messages`, or the list. Messages may be LangChain's serialized objects, `{ type,
 * data }`, or flat as LangGraph's server shows them.
 *
 * @throws DataError; RecordError with the index of the message.
 */
export function messagesOfState(value: unknown): BaseMessage[] {
  const messages = messagesIn(value);
  if (messages === undefined) {
    throw new DataError('the state has no list "messages"');
  }
  return messages.map((message, index) => reviveMessage(structuredClone(message), index));
}

function messagesIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) {
    return value;
  }
  if (!isRecord(value)) {
    return undefined;
  }
  const places = [value["messages"], value["values"], value["channel_values"], value["checkpoint"]];
  return places.map(messagesIn).find((list) => list !== undefined);
}
