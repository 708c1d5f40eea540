import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord } from "./decode-record.js";
import { encodeMessage } from "./encode-message.js";
import { ownIdOf } from "./message-ids.js";

/**
 * A message equal to this one, as it would be read after it was stored. Later changes of this one do not change it.
 *
 * @throws RecordError `unsupported_message` for a message that cannot be stored.
 */
export function copyMessage(message: BaseMessage): BaseMessage {
  const id = ownIdOf(message);
  const { message: copy } = decodeRecord(encodeMessage(message, { id: id ?? "" }).record);
  copy.id = id!;
  return copy;
}
