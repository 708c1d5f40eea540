import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord } from "./decode-record.js";
import { encodeMessage } from "./encode-message.js";
import { ownIdOf } from "./message-ids.js";

/**
 * A deep copy of the message, as a read would return it after a write.
 *
 * @throws RecordError `unsupported_message` for a message that cannot be stored.
 */
export function copyMessage(message: BaseMessage): BaseMessage {
  const id = ownIdOf(message);
  const { message: copy } = decodeRecord(encodeMessage(message, { id: id ?? "" }).record);
  copy.id = id!;
  return copy;
}
