import { shortHash } from "../short-hash.js";
import { decodeRecord } from "./decode-record.js";
import { digestMessage } from "./encode-message.js";

/**
 * The id and digest of a stored record, as `encodeMessage` gave them; undefined where it cannot be read. A record of
 * another maker without an id gets `record:<14 characters of its SHA-256 in base64url>`, so the same text always gets
 * the same id.
 */
export function identifyRecord(record: string): { readonly id: string; readonly digest: string } | undefined {
  try {
    const { id, message } = decodeRecord(record);
    return { id: id ?? `record:${shortHash(record, 14)}`, digest: digestMessage(message) };
  } catch {
    return undefined;
  }
}
