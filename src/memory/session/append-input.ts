import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import { encodeContent, recordOf, messageIdOf } from "../../store/codec/encode-message.js";
import type { TurnOutput, EncodedContent, RecordMeta } from "../../store/codec/encode-message.js";
import { anyText, lazy, nonNegativeInteger, objectOf, parseOptions, type SchemaOutput } from "../../base/options.js";
import { fitsBytes } from "../../base/bounds.js";
import { limitedText, mostBytes, type ModelUsage } from "../../store/contract/session-ref.js";
import type { SessionView } from "../../store/contract/session-reads.js";
import type { RewindRequest, SideChanges, StoredTurn, NewRecord } from "../../store/contract/session-writes.js";
import { decodeRecord } from "../../store/codec/decode-record.js";
import { ownIdOf, fieldsOf, isRecord, roleOf } from "../../conversation/messages/message.js";
import { ConfigurationError, MemoryError, RecordError } from "../../base/errors.js";
import { checkNumberOfRecords, checkSizes, type SizeLimits } from "../../store/contract/append-decision.js";
import { breather, countOf, rememberTokens, type TokenCounter } from "../../conversation/tokens/counted-messages.js";
import type { MemoryContext } from "./memory-context.js";

/**
 * Options of an append.
 * @example
 * import type { BaseMessage } from "@langchain/core/messages";
 * import { RedisChatMessageHistory, type AppendOptions } from "langchain-redis-memory";
 *
 * class CountedHistory extends RedisChatMessageHistory {
 *   byChains = 0;
 *
 *   override async append(messages: readonly BaseMessage[], options?: AppendOptions) {
 *     const outcome = await super.append(messages, options); // options as they are
 *     this.byChains += options?.turn === undefined ? 0 : outcome.appended;
 *     return outcome;
 *   }
 * }
 */
export interface AppendOptions {
  /**
   * Idempotency key of the turn: a second append with the same id adds nothing, even with other ids and texts, for as
   * long as the session lives. Messages without an id get `<turnId>-<index>`.
   */
  readonly turnId?: string;
  /**
   * Compare-and-set: refuses the write unless the session's next message gets this position (the `next` of an earlier
   * append), with a ConflictError `position`, whose `next` is the current end of the log. A repetition of stored
   * messages is not refused. @default no check
   */
  readonly expectedNext?: number;
  /** Side data, written atomically with the messages. */
  readonly side?: SideChanges;
  /** Settings of a chain's or agent's turn. A subclass that overrides `append` passes them on unchanged. */
  readonly turn?: TurnWrite;
}

/** Opaque settings of a turn's write, made by a chain, an agent or a `HistoryManager`; pass them on unchanged. */
export interface TurnWrite {
  /** Keeps other objects out. */
  readonly [opaque]: true;
}
declare const opaque: unique symbol;

/** Result of an append. */
export interface AppendOutcome {
  /** Number of messages stored by this append. */
  readonly appended: number;
  /** Number of messages that were stored already. */
  readonly duplicates: number;
  /** Position of the session's next message. */
  readonly next: number;
  /** True if the turn was already stored; nothing was written. */
  readonly repeated: boolean;
}

/** Settings of one of a turn's writes. */
export interface TurnSettings {
  /** Messages of the turn that the writer knows to be stored. @default 0 */
  readonly stored?: number;
  /** False to leave the turn open for a later append. @default true */
  readonly done?: boolean;
  /** The form of the turn's answer, so that a retry can return it again. */
  readonly output?: TurnOutput;
  /** The end of the log that the messages replace, such as an interrupted answer. */
  readonly cut?: RewindRequest;
  /** True if the caller retries by itself when others overtook the `cut`, so that no event is raised. */
  readonly triesAgain?: boolean;
  /** True to return the view with the write, and not to reduce it. */
  readonly returnView?: boolean;
  /**
   * True for the first write of a turn. If any part of the turn is stored, nothing is written and the outcome has
   * `storedTurn`. A message whose id is stored keeps its stored content, without an event.
   */
  readonly opens?: boolean;
  /** Ticket of the hold that this write releases, if it adds its messages. */
  readonly release?: string;
  /** False to skip the reduction, because the writer reduces the view later. @default true */
  readonly reduce?: boolean;
  /** The writing run, which is the parent of a reduction in traces. @default the calling run */
  readonly trace?: Pick<RunnableConfig, "callbacks" | "metadata">;
  /** True to refuse a message whose id is stored with other content, regardless of `onConflict`. */
  readonly refusesKnown?: boolean;
}

/** The options of an append, with the settings behind an opaque {@link TurnWrite}. */
export interface TurnAppendOptions extends Omit<AppendOptions, "turn"> {
  readonly turn?: TurnSettings;
}

/** The outcome of an append for the writer of a turn. */
export interface TurnOutcome extends AppendOutcome {
  /**
   * Why a write of a turn was not stored: `forgotten` if the stored part is gone (cleared, rewound or expired),
   * `overtaken` if another writer wrote in between.
   */
  readonly refused?: "forgotten" | "overtaken";
  /** Number of messages now stored under the turn's name, for a later write of the same turn. */
  readonly turnCount?: number;
  /** True if the write released the hold of its `release`. */
  readonly gaveBack?: boolean;
  /** The stored part of a repeated turn. */
  readonly storedTurn?: StoredTurn;
  /** The view after the write, if `returnView` was set. */
  readonly view?: SessionView;
}

/** The object behind a {@link TurnWrite}: the settings on the way in, and the outcome on the way back. */
export class TurnTicket {
  readonly settings: TurnSettings;
  outcome: TurnOutcome | undefined;

  constructor(settings: TurnSettings) {
    this.settings = settings;
  }
}

/** A history as the writer of a turn sees it. */
export interface AppendHistory {
  append(messages: readonly BaseMessage[], options: AppendOptions): Promise<AppendOutcome>;
}

/** Appends a part of a turn by the history's own `append`, which a subclass may override. */
export async function writeTurn(
  history: AppendHistory,
  messages: readonly BaseMessage[],
  options: TurnAppendOptions & { readonly turn: TurnSettings },
): Promise<TurnOutcome> {
  const ticket = new TurnTicket(options.turn);
  const outcome = await history.append(messages, { ...options, turn: ticket as unknown as TurnWrite });
  // A subclass that decides to store nothing has an outcome of its own.
  return ticket.outcome ?? outcome;
}

/** Checks the options of an append. @throws ConfigurationError naming the option */
export function checkedAppend(options: AppendOptions): SchemaOutput<typeof appendSchema> {
  return namesTurnOnly(options) ? options : parseOptions("append", appendSchema(), options);
}

/** True for a turn's name and settings, as {@link appendSchema} accepts them: every turn brings them. */
function namesTurnOnly(options: unknown): options is SchemaOutput<typeof appendSchema> {
  if (typeof options !== "object" || options === null || Object.getPrototypeOf(options) !== Object.prototype) {
    return false;
  }
  for (const name in options) {
    const value = (options as Record<string, unknown>)[name];
    const isName = name === "turnId" && typeof value === "string" && value !== "" && fitsBytes(value, mostBytes.id);
    if (!isName && !(name === "turn" && value instanceof TurnTicket)) {
      return false;
    }
  }
  return true;
}

/** The form of {@link AppendOptions}. */
const appendSchema = lazy(() =>
  z.strictObject({
    turnId: z.optional(limitedText("id")),
    expectedNext: z.optional(nonNegativeInteger()),
    // Parsed, and so a copy: the caller may change it while the append waits.
    side: z.optional(
      objectOf(
        {
          set: z.optional(z.record(anyText(), anyText(), "must be an object whose values are strings")),
          remove: z.optional(z.array(anyText(), "must be an array of strings")),
          bound: z.optional(
            objectOf({ prefix: anyText(), keep: nonNegativeInteger() }, "an object with prefix and keep"),
          ),
        },
        "an object with set, remove or bound",
      ),
    ),
    turn: z.optional(
      z.custom<TurnTicket>((value) => value instanceof TurnTicket, "is made by chains and agents; pass it on as it is"),
    ),
  }),
);

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
type AskedTokens = Readonly<Record<string, number>>;

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
interface RecordContext {
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
