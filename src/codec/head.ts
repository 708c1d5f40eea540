import { RecordError } from "../base/errors.js";
import { refuseSealedFields } from "../sealed/keys/sealed-field.js";
import { isRecord } from "../messages/values.js";

/**
 * The records of a head as one text: a JSON array, `""` for none.
 *
 * @throws RecordError `corrupt` if one of them is not a record; its position is its index.
 */
export function encodeHead(records: readonly string[]): string {
  records.forEach((record, index) => {
    if (!isRecordText(record)) {
      throw new RecordError(`The record at index ${index} of the head is not a JSON object.`, {
        code: "corrupt",
        position: index,
      });
    }
  });
  return records.length === 0 ? "" : `[${records.join(",")}]`;
}

/**
 * The records of a head, ready for `decodeRecord`.
 *
 * @throws RecordError `corrupt` if the text is not what {@link encodeHead} writes;
 *   EncryptionError for an encrypted one.
 */
export function decodeHead(head: string): string[] {
  if (head === "") {
    return [];
  }
  refuseSealedFields(undefined, [head]);
  try {
    const records: unknown = JSON.parse(head);
    if (Array.isArray(records) && records.every(isRecord)) {
      return records.map((record) => JSON.stringify(record));
    }
  } catch {
    // The error of JSON.parse quotes what it read.
  }
  throw new RecordError("The head of the view cannot be read: it is not a JSON array of records.", { code: "corrupt" });
}

function isRecordText(record: string): boolean {
  try {
    return isRecord(JSON.parse(record));
  } catch {
    return false;
  }
}
