import { decodeHead } from "../codec/head.js";
import { identifyRecord } from "../codec/message-ids.js";
import { EncryptionError } from "../base/errors.js";

/**
 * Ids of the messages in a head; empty for an unreadable head, which a read of the view reports.
 *
 * @throws EncryptionError.
 */
export function headIds(head: string): string[] {
  try {
    return decodeHead(head).flatMap((record) => identifyRecord(record)?.id ?? []);
  } catch (error) {
    if (EncryptionError.isInstance(error)) {
      throw error;
    }
    return [];
  }
}
