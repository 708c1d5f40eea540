import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord } from "../../store/codec/decode-record.js";
import { encodeContent, recordOf, type EncodedContent, type RecordMeta } from "../../store/codec/encode-message.js";
import { messageIdOf, ownIdOf } from "../../store/codec/message-ids.js";
import { ConfigurationError, MemoryError, RecordError } from "../../base/errors.js";
import type { NewRecord } from "../../store/contract/session-writes.js";
import type { ModelUsage } from "../../store/contract/lists.js";
import { checkNumberOfRecords, checkSizes, type SizeLimits } from "../../store/contract/append-decision.js";
import { fieldsOf, isRecord } from "../../conversation/messages/values.js";
import { roleOf } from "../../conversation/messages/roles.js";
import { breather, countOf, rememberTokens } from "../../conversation/tokens/counted-messages.js";
import type { TokenCounter } from "../../conversation/tokens/token-counter.js";
import type { AppendOptions } from "./append-options.js";
import type { MemoryContext } from "./memory-context.js";

/** A snapshot of a message to store, independent of later changes of the object. */
export interface CopiedMessage {
  readonly content: EncodedContent;
  /** The message's id, or the one assigned to its object; undefined if its index in the turn makes its id. */
  readonly id: string | undefined;
  /** Tokens under the current counter, once counted. */
  tokens?: number;
  /** Token usage of the model call, if the message has it. */
  readonly usage?: ModelUsage | undefined;
  /** Tokens that the request of this answer was thought to take. */
  readonly estimate?: AskedTokens | undefined;
}

/** An estimate of a request, by the name of its counter and model. */
export type AskedTokens = Readonly<Record<string, number>>;

const estimates = new WeakMap<BaseMessage, AskedTokens>();

/** Keeps with an answer what its request was thought to take: stored with it, as one of its token counts. */
export function noteAsked(answer: BaseMessage, name: string, tokens: number): void {
  estimates.set(answer, { [name]: tokens });
  rememberTokens(answer, name, tokens);
}

/**
 * Copies messages to be stored. Synchronous, so that a caller may mutate its list and messages right after the call.
 *
 * @throws ConfigurationError `messages` for anything but an array; RecordError `unsupported_message`, with its index as
 * the position, for a message that cannot be stored; StoreError `too_large` for too many.
 */
function copyMessages(
  messages: readonly BaseMessage[],
  { sessionId, turnId }: { readonly sessionId: string; readonly turnId: string | undefined },
): CopiedMessage[] {
  if (!Array.isArray(messages)) {
    throw new ConfigurationError("messages", 'append: "messages" must be an array of LangChain messages.');
  }
  checkNumberOfRecords(sessionId, messages.length);
  const copies: CopiedMessage[] = [];
  // By index, because other iterations skip holes of a sparse array.
  for (let index = 0; index < messages.length; index += 1) {
    copies.push(copyMessage(messages[index], { index, turnId }));
  }
  return copies;
}

function copyMessage(message: BaseMessage, { index, turnId }: { index: number; turnId: string | undefined }) {
  try {
    const content = encodeContent(message);
    const usage = usageOf(message);
    const id = turnId === undefined ? messageIdOf(message) : ownIdOf(message);
    return { content, usage, id, estimate: estimates.get(message) };
  } catch (error) {
    const isTyped = MemoryError.isInstance(error);
    const reason = isTyped ? error.message.replace(/^The message cannot be stored: /, "") : "a field cannot be read.";
    throw new RecordError(`Message ${index} of this append cannot be stored: ${reason}`, {
      ...{ code: "unsupported_message", position: index, cause: isTyped ? error.cause : error },
    });
  }
}

/** The copy as a message, for later inspection. */
export function messageOf({ content, id = "" }: CopiedMessage): BaseMessage {
  return decodeRecord(recordOf(content, { id }).record).message;
}

/** Context for making records. */
export interface RecordContext {
  /** Id of the counter that made the counts. */
  readonly counterId: string | undefined;
  readonly turnId: string | undefined;
  /** True to let the store sum up the models' token usage. */
  readonly tracksUsage: boolean;
  /** Index in the turn of the first message. */
  readonly offset: number;
  /** Time, turn and owner of all records, and the output of the last one. */
  readonly meta: RecordMeta;
}

/** The records of messages, in order, with their token counts if known. */
export function recordsOf(copies: readonly CopiedMessage[], context: RecordContext): NewRecord[] {
  const { counterId, turnId, tracksUsage, offset, meta } = context;
  const { at, turn, output, owner } = meta;
  const records: NewRecord[] = [];
  for (const [index, { content, id, tokens, usage, estimate }] of copies.entries()) {
    const counted = tokens === undefined || counterId === undefined ? undefined : { [counterId]: tokens };
    const encoded = recordOf(content, {
      id: id ?? `${turnId}-${offset + index}`,
      tokens: estimate === undefined ? counted : { ...counted, ...estimate },
      at,
      turn,
      output: index === copies.length - 1 ? output : undefined,
      owner,
    });
    const { record, digest } = encoded;
    records.push({ id: encoded.id, digest, record, usage: tracksUsage ? usage : undefined, tokens });
  }
  return records;
}

const maxNameLength = 128;

/**
 * Token usage reported by an answer, and its model; undefined for other messages. A model without a name is `unknown`.
 */
export function usageOf(message: BaseMessage): ModelUsage | undefined {
  const { usage_metadata: usage, response_metadata: response } = message as {
    usage_metadata?: unknown;
    response_metadata?: unknown;
  };
  if (!isRecord(usage) || roleOf(message) !== "ai") {
    return undefined;
  }
  const base = [amountOf(usage["input_tokens"]), amountOf(usage["output_tokens"])] as const;
  const total = usage["total_tokens"] === undefined ? base[0] + base[1] : amountOf(usage["total_tokens"]);
  const [input, output] = compactionUsage(response);
  return { model: nameOf(response), input: base[0] + input, output: base[1] + output, total: total + input + output };
}

/** Input and output of the calls in which the provider compacted the conversation: they are billed besides. */
function compactionUsage(response: unknown): readonly [number, number] {
  const calls = fieldsOf(fieldsOf(response)["usage"])["iterations"];
  const own = Array.isArray(calls) ? calls.map(fieldsOf).filter(({ type }) => type === "compaction") : [];
  const sum = (key: string) => own.reduce((all, call) => all + amountOf(call[key]), 0);
  return [sum("input_tokens"), sum("output_tokens")];
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
 * Copies the messages to store, or their forms by `beforeStore`, and counts them if there is a counter. Copies before
 * it returns, and refuses oversized messages before counting.
 */
export function prepareMessages(
  { sessionId, context }: { readonly sessionId: string; readonly context: MemoryContext },
  messages: readonly BaseMessage[],
  { turnId, side }: Pick<AppendOptions, "turnId" | "side">,
): CopiedMessage[] | Promise<CopiedMessage[]> {
  const copies = copyMessages(messages, { sessionId, turnId });
  const { forms, tokenCounter } = context;
  return forms === undefined && tokenCounter === undefined
    ? copies
    : formedAndCounted({ sessionId, context }, messages, { copies, side });
}

async function formedAndCounted(
  { sessionId, context }: { readonly sessionId: string; readonly context: MemoryContext },
  own: readonly BaseMessage[],
  { copies, side }: { readonly copies: CopiedMessage[]; readonly side: AppendOptions["side"] },
): Promise<CopiedMessage[]> {
  const { store, tokenCounter, forms } = context;
  const stored = forms === undefined ? own : await forms.of(own);
  const encoded = forms === undefined ? copies : copiesOf(stored, copies);
  if (tokenCounter !== undefined) {
    const { limits } = store;
    const texts = encoded.map(({ content }) => content.data);
    if (limits !== undefined && mayExceed(texts, limits)) {
      checkSizes(sessionId, { texts, side }, limits);
    }
    await countCopies(tokenCounter, encoded, stored);
  }
  return encoded;
}

/** Copies of the stored forms, under the ids of the given messages. */
function copiesOf(forms: readonly BaseMessage[], copies: readonly CopiedMessage[]): CopiedMessage[] {
  return forms.map((form, index) => {
    const { id, estimate } = copies[index]!;
    return { content: encodeContent(form), usage: usageOf(form), id, estimate };
  });
}

/** False if the texts fit at any number of bytes per character, which saves the byte count of short texts. */
function mayExceed(texts: readonly string[], { maxMessageBytes, maxAppendBytes }: SizeLimits): boolean {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return 3 * length > Math.min(maxMessageBytes, maxAppendBytes);
}

/**
 * Counts the tokens of copies, once each. `messages` are the original objects: they are counted until the first await,
 * because counts are cached by object; later counts use the copies, because the caller may have mutated its objects.
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
    let counted = countOf(counter, isSame ? messages[index]! : messageOf(copy));
    if (isSame && typeof counted !== "number") {
      // An asynchronous counter may read a message after the caller mutated it.
      isSame = false;
      counted = countOf(counter, messageOf(copy));
    }
    copy.tokens = typeof counted === "number" ? counted : await counted;
    const pause = breathe();
    if (pause !== undefined) {
      await pause;
      isSame = false;
    }
  }
}
