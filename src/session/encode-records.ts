import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord } from "../codec/decode-record.js";
import { encodeContent, recordOf, type EncodedContent } from "../codec/encode-message.js";
import { messageIdOf, ownIdOf } from "../codec/message-ids.js";
import type { RecordMeta } from "../codec/record-meta.js";
import { ConfigurationError, MemoryError, RecordError } from "../base/errors.js";
import type { NewRecord } from "../store/session-writes.js";
import type { ModelUsage } from "../store/lists.js";
import { checkNumberOfRecords } from "../store/size-limits.js";
import { usageOf } from "./usage-of.js";

/** A message as it was when it was given to be stored: what is made of it does not change with the object. */
export interface CopiedMessage {
  readonly content: EncodedContent;
  /** The message's own id, or the one that its object has got; undefined where its place in the turn gives it one. */
  readonly id: string | undefined;
  /** Tokens under the counter in use, as soon as they are counted. */
  tokens?: number;
  /** What the model took for it, where the message says so. */
  readonly usage?: ModelUsage | undefined;
}

/**
 * Copies messages to be stored. Synchronous: a caller may change its list and its messages as soon as the call is made.
 *
 * @throws ConfigurationError `messages` for anything but an array; RecordError `unsupported_message`, with its index as
 *   the position, for a message that cannot be stored; StoreError `too_large` for too many.
 */
export function copyMessages(
  messages: readonly BaseMessage[],
  { sessionId, turnId }: { readonly sessionId: string; readonly turnId: string | undefined },
): CopiedMessage[] {
  if (!Array.isArray(messages)) {
    throw new ConfigurationError("messages", 'append: "messages" must be an array of LangChain messages.');
  }
  checkNumberOfRecords(sessionId, messages.length);
  const copies: CopiedMessage[] = [];
  // By index, because every other way through a list skips its holes.
  for (let index = 0; index < messages.length; index += 1) {
    copies.push(copyMessage(messages[index], { index, turnId }));
  }
  return copies;
}

function copyMessage(message: BaseMessage, { index, turnId }: { index: number; turnId: string | undefined }) {
  try {
    const content = encodeContent(message);
    const usage = usageOf(message);
    return { content, usage, id: turnId === undefined ? messageIdOf(message) : ownIdOf(message) };
  } catch (error) {
    const isTyped = MemoryError.isInstance(error);
    const reason = isTyped ? error.message.replace(/^The message cannot be stored: /, "") : "a field cannot be read.";
    throw new RecordError(`Message ${index} of this append cannot be stored: ${reason}`, {
      ...{ code: "unsupported_message", position: index, cause: isTyped ? error.cause : error },
    });
  }
}

/** A copy as a message, for those who have to look at it later. */
export function messageOf({ content, id = "" }: CopiedMessage): BaseMessage {
  return decodeRecord(recordOf(content, { id }).record).message;
}

/** What records are made with. */
export interface RecordContext {
  /** Id of the counter that made the counts. */
  readonly counterId: string | undefined;
  readonly turnId: string | undefined;
  /** True to let the store sum up what models took. */
  readonly tracksUsage: boolean;
  /** Index in the turn of the first message. */
  readonly offset: number;
  /** The time, the turn's name and the owner's mark for all of the records, and the output for the last of them. */
  readonly meta: RecordMeta;
}

/** The records of messages, in order, with their token counts where they are counted. */
export function recordsOf(copies: readonly CopiedMessage[], context: RecordContext): NewRecord[] {
  const { counterId, turnId, tracksUsage, offset, meta } = context;
  const { at, turn, output, owner } = meta;
  const records: NewRecord[] = [];
  for (const [index, { content, id, tokens, usage }] of copies.entries()) {
    const record = recordOf(content, {
      id: id ?? `${turnId}-${offset + index}`,
      tokens: tokens === undefined || counterId === undefined ? undefined : { [counterId]: tokens },
      ...{ at, turn },
      output: index === copies.length - 1 ? output : undefined,
      owner,
    });
    const paid = tracksUsage && usage !== undefined ? { ...record, usage } : record;
    records.push(tokens === undefined ? paid : { ...paid, tokens });
  }
  return records;
}
