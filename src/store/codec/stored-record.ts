import type { BaseMessage } from "@langchain/core/messages";
import { EncryptionError, RecordError } from "../../base/errors.js";
import { shortHash } from "../../base/ids.js";
import type { IdentifiedRecord } from "../contract/session-writes.js";
import { decodeRecord, metaOf } from "./decode-record.js";
import { digestMessage, encodeMessage } from "./encode-message.js";
import { isAnswer } from "../../conversation/messages/content.js";
import { ownIdOf, isRecord, valueIn } from "../../conversation/messages/message.js";

/**
 * The id, digest and turn of a stored record, as `encodeMessage` gave them; undefined for an unreadable one. A foreign
 * record without an id gets `record:<14 characters of its SHA-256 in base64url>`, which is deterministic.
 *
 * @throws EncryptionError for an encrypted record.
 */
export function identifyRecord(record: string): IdentifiedRecord | undefined {
  try {
    const { id, message } = decodeRecord(record);
    const { turn: name } = metaOf(record);
    const identity = { id: id ?? `record:${shortHash(record, 14)}`, digest: digestMessage(message) };
    return name === undefined ? identity : { turn: { name, ends: isAnswer(message) }, ...identity };
  } catch (error) {
    if (EncryptionError.isInstance(error)) {
      throw error;
    }
    return undefined;
  }
}

/** The `lastId` of `ReadState`: id of the last record, if it has one. */
export function lastIdOf(records: readonly string[]): { readonly lastId?: string } {
  const last = records.at(-1);
  const id = last === undefined ? undefined : identifyRecord(last)?.id;
  return id === undefined ? {} : { lastId: id };
}

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

/**
 * Encodes the records of a head: a JSON array, `""` for none.
 *
 * @throws RecordError `corrupt` for an element that is not a record; `position` is its index.
 */
export function encodeHead(records: readonly string[]): string {
  records.forEach((record, index) => {
    if (!isRecord(valueIn(record))) {
      throw new RecordError(`The record at index ${index} of the head is not a JSON object.`, {
        code: "corrupt",
        position: index,
      });
    }
  });
  return records.length === 0 ? "" : `[${records.join(",")}]`;
}

/**
 * Decodes {@link encodeHead}: the records of a head, for `decodeRecord`.
 *
 * @throws RecordError `corrupt` for any other text.
 */
export function decodeHead(head: string): string[] {
  if (head === "") {
    return [];
  }
  const records = valueIn(head);
  if (Array.isArray(records) && records.every(isRecord)) {
    return records.map((record) => JSON.stringify(record));
  }
  throw new RecordError("The head of the view cannot be read: it is not a JSON array of records.", { code: "corrupt" });
}
