import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord } from "../codec/decode-record.js";
import { metaOf, turnNameOf } from "../codec/record-meta.js";
import { roleOf } from "../messages/roles.js";
import type { StoredTurn } from "../store/turns.js";
import type { StoredEntry } from "./view.js";

/** A stored message of a turn. */
export type StoredMessage = Pick<StoredEntry, "message" | "record">;

/** The messages of a turn that came back from an append: records of other turns may stand between its own. */
export function messagesOfTurn({ records }: StoredTurn, turnId: string): StoredMessage[] {
  const name = turnNameOf(turnId);
  const own = records.filter((record) => metaOf(record).turn === name);
  return own.map((record) => ({ record, message: decodeRecord(record).message }));
}

/** Index of the first message of a turn that is not its input; its length where there is none. */
export function answerStart(own: readonly { readonly message: BaseMessage }[]): number {
  const index = own.findIndex(({ message }) => roleOf(message) !== "human" && roleOf(message) !== "system");
  return index < 0 ? own.length : index;
}
