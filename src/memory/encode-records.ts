import type { BaseMessage } from "@langchain/core/messages";
import { encodeMessage } from "../codec/encode-message.js";
import { messageIdOf } from "../codec/message-ids.js";
import type { RecordMeta } from "../codec/record-meta.js";
import type { NewRecord } from "../store/session-store.js";
import { countOf } from "../tokens/counted-messages.js";
import type { TokenCounter } from "../tokens/token-counter.js";

/** What records are made with. */
export interface RecordContext {
  readonly counter: TokenCounter | undefined;
  readonly turnId: string | undefined;
  /** Index in the turn of the first message. */
  readonly offset: number;
  /** The time and the turn's name for all of the records, and the output for the last of them. */
  readonly meta: RecordMeta;
}

/** The records of messages, in order, with their token counts where there is a counter. */
export async function encodeRecords(
  messages: readonly BaseMessage[],
  { counter, turnId, offset, meta }: RecordContext,
): Promise<NewRecord[]> {
  const { at, turn, output } = meta;
  const records: NewRecord[] = [];
  for (const [index, message] of messages.entries()) {
    const id = messageIdOf(message, { index: offset + index, turnId });
    const tokens = counter === undefined ? undefined : await countOf(counter, message);
    const { digest, record } = encodeMessage(message, {
      id,
      tokens: tokens === undefined ? undefined : { [counter!.id]: tokens },
      ...{ at, turn },
      output: index === messages.length - 1 ? output : undefined,
    });
    records.push(tokens === undefined ? { id, digest, record } : { id, digest, record, tokens });
  }
  return records;
}
