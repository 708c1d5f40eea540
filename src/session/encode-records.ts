import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord } from "../codec/decode-record.js";
import {
  encodeContent,
  recordOf,
  type EncodedContent,
  digestMessage,
  type RecordMeta,
} from "../codec/encode-message.js";
import { messageIdOf, ownIdOf } from "../codec/message-ids.js";
import { ConfigurationError, MemoryError, RecordError } from "../base/errors.js";
import type { NewRecord } from "../store/session-writes.js";
import type { ModelUsage } from "../store/lists.js";
import { checkNumberOfRecords, checkSizes, type SizeLimits } from "../store/request-checks.js";
import { isRecord } from "../messages/values.js";
import { roleOf } from "../messages/roles.js";
import { breather, countOf } from "../tokens/counted-messages.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { AppendOptions } from "./append-options.js";
import type { MemoryContext } from "./memory-context.js";

/** A message as it was when it was given to be stored: what is made of it does not change with the object. */
export interface CopiedMessage {
  readonly content: EncodedContent;
  /** The message's own id, or the one that its object has got; undefined where its place in the turn gives it one. */
  readonly id: string | undefined;
  /** Tokens under the counter in use, as soon as they are counted. */
  tokens?: number;
  /** Token usage of the model call, if the message has it. */
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

/** Context for making records. */
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

const maxNameLength = 128;

/**
 * The tokens that an answer says to have taken, and its model; undefined for every other message. A model without a
 * name is `unknown`.
 */
export function usageOf(message: BaseMessage): ModelUsage | undefined {
  const { usage_metadata: usage, response_metadata: response } = message as {
    usage_metadata?: unknown;
    response_metadata?: unknown;
  };
  if (!isRecord(usage) || roleOf(message) !== "ai") {
    return undefined;
  }
  const [input, output] = [amountOf(usage["input_tokens"]), amountOf(usage["output_tokens"])];
  const total = usage["total_tokens"] === undefined ? input + output : amountOf(usage["total_tokens"]);
  return { model: nameOf(response), input, output, total };
}

function amountOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

function nameOf(response: unknown): string {
  const names = isRecord(response) ? [response["model_name"], response["model"], response["modelId"]] : [];
  const name = names.find((value) => typeof value === "string" && value !== "") as string | undefined;
  return (name ?? "unknown")
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ")
    .slice(0, maxNameLength)
    .toWellFormed();
}

/**
 * Copies messages to be stored, or what `beforeStore` makes of them, and counts them where there is a counter. The copy
 * is there before the first pause, and what is too large is refused before anything is counted.
 */
export async function prepareMessages(
  { sessionId, context }: { readonly sessionId: string; readonly context: MemoryContext },
  messages: readonly BaseMessage[],
  { turnId, side }: Pick<AppendOptions, "turnId" | "side">,
): Promise<CopiedMessage[]> {
  const given = copyMessages(messages, { sessionId, turnId });
  const { store, tokenCounter, forms } = context;
  const stored = forms === undefined ? messages : await forms.of(messages);
  const copies = forms === undefined ? given : copiesOf(stored, given);
  if (tokenCounter !== undefined) {
    const { limits } = store;
    const texts = copies.map(({ content }) => content.data);
    if (limits !== undefined && mayExceed(texts, limits)) {
      checkSizes(sessionId, { texts, side }, limits);
    }
    await countCopies(tokenCounter, copies, stored);
  }
  return copies;
}

/** Copies of what is stored in the place of messages, under the ids of these. */
function copiesOf(forms: readonly BaseMessage[], given: readonly CopiedMessage[]): CopiedMessage[] {
  return forms.map((form, index) => ({ content: encodeContent(form), id: given[index]!.id }));
}

/** False if the texts fit however many bytes their characters take; spares short texts the counting of their bytes. */
function mayExceed(texts: readonly string[], { maxMessageBytes, maxAppendBytes }: SizeLimits): boolean {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return 3 * length > Math.min(maxMessageBytes, maxAppendBytes);
}

/**
 * Counts the tokens of copies, once each. `messages` are the objects that they were made of: these are counted until
 * the first pause, because counts are remembered by object; what is counted later is a copy, because the caller may
 * have changed its objects by then.
 *
 * @throws ConfigurationError if the counter returns something other than a count.
 */
async function countCopies(
  counter: TokenCounter,
  copies: readonly CopiedMessage[],
  messages: readonly BaseMessage[],
): Promise<void> {
  const breathe = breather();
  let isSame = true;
  for (const [index, copy] of copies.entries()) {
    const counted = countOf(counter, isSame ? messages[index]! : messageOf(copy));
    if (typeof counted === "number") {
      copy.tokens = counted;
    } else {
      const tokens = await counted;
      // A counter that reads the message late may have read what the caller made of it meanwhile.
      const isStale = isSame && !isUnchanged(messages[index]!, copy);
      copy.tokens = isStale ? await countOf(counter, messageOf(copy)) : tokens;
      isSame = false;
    }
    const pause = breathe();
    if (pause !== undefined) {
      await pause;
      isSame = false;
    }
  }
}

function isUnchanged(message: BaseMessage, { content }: CopiedMessage): boolean {
  try {
    return digestMessage(message) === content.digest;
  } catch {
    return false;
  }
}
