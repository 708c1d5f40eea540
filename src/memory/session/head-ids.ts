import { decodeHead } from "../../store/codec/head.js";
import { identifyRecord } from "../../store/codec/message-ids.js";

/** Ids of the messages in a head that the store has opened; empty for an unreadable one: a read of the view tells. */
export function headIds(head: string): string[] {
  try {
    return decodeHead(head).flatMap((record) => identifyRecord(record)?.id ?? []);
  } catch {
    return [];
  }
}
