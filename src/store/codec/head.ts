import { RecordError } from "../../base/errors.js";
import { isRecord, valueIn } from "../../conversation/messages/message.js";

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
