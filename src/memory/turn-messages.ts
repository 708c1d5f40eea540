import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord } from "../codec/decode-record.js";
import { metaOf, turnNameOf } from "../codec/record-meta.js";
import { roleOf } from "../messages/roles.js";
import type { StoredTurn } from "../store/turns.js";
import type { StoredEntry } from "./view.js";

/** A stored message of a turn. */
export type StoredMessage = Pick<StoredEntry, "message" | "record">;

/** The messages of a turn that came back from an append: records of other turns may stand between its own. */
export function messagesOfTurn({ records, first, count }: StoredTurn, turnId: string): StoredEntry[] {
  const name = turnNameOf(turnId);
  // Those that retention has discarded are missing at the beginning.
  const from = first + count - records.length;
  return records.flatMap((record, index) => {
    const isOwn = metaOf(record).turn === name;
    return isOwn ? [{ record, message: decodeRecord(record).message, position: from + index }] : [];
  });
}

/** Index of the first message of a turn that is not its input; its length where there is none. */
export function answerStart(own: readonly { readonly message: BaseMessage }[]): number {
  const index = own.findIndex(({ message }) => roleOf(message) !== "human" && roleOf(message) !== "system");
  return index < 0 ? own.length : index;
}
