import type { BaseMessage, ToolMessage, MessageContent } from "@langchain/core/messages";
import * as z from "zod/mini";
import { keepFirstUnits, graphemeBoundary } from "../../base/graphemes.js";
import { jsonText } from "../../base/json-text.js";
import {
  answeredId,
  linkCalls,
  readEarlierName,
  partsInWords,
  blockText,
  contentText,
  textOf,
} from "../messages/content.js";
import { isScreenshot, roleOf } from "../messages/message.js";
import { stepsOf } from "../messages/steps.js";
import { lazy, nonEmptyText, nonNegativeInteger, parseOptions, positiveInteger } from "../../base/options.js";
import { ChatHistoryReducer, reduced, unchanged, withShorterContent } from "./chat-history-reducer.js";
import type { ReductionOutcome } from "./chat-history-reducer.js";
import { breather, countOf, type TokenCounter } from "../tokens/counted-messages.js";

/** Options of {@link ChatHistoryToolResultReducer}. */
export interface ChatHistoryToolResultReducerOptions {
  /**
   * How many of the newest steps with tool results to keep whole. At least 0, which also shortens results that the
   * model has not seen yet.
   */
  readonly keepLast: number;
  /**
   * How many more steps may be whole before anything is shortened; then all but the newest `keepLast` are shortened at
   * once. In between the beginning of the prompt stays the same, so that the provider's prompt cache works. Steps with
   * short results only are not counted. @default `keepLast`
   */
  readonly thresholdCount?: number;
  /** Maximum length of a shortened result, in UTF-16 code units. At least 1. @default 200 */
  readonly maxCharacters?: number;
  /** The text of a shortened result instead of its first characters. Results that are not longer stay. */
  readonly placeholder?: string | ((message: ToolMessage) => string);
  /** Names of tools whose results stay whole. @default none */
  readonly excludeTools?: readonly string[];
}

/** Schema fields of the options that say what is shortened, and to what. */
export const shorteningFields = lazy(() => ({
  placeholder: z.optional(
    z.custom<string | ((message: ToolMessage) => string)>(
      (value) => typeof value === "string" || typeof value === "function",
      "must be a text or a function",
    ),
  ),
  excludeTools: z._default(z.array(nonEmptyText(), "must be an array of names of tools"), []),
}));

const schema = lazy(() =>
  z.strictObject({
    keepLast: nonNegativeInteger(),
    thresholdCount: z.optional(nonNegativeInteger()),
    maxCharacters: z._default(positiveInteger(), defaultLine),
    ...shorteningFields(),
  }),
);

const defaultLine = 200;
/** Ends a line that is cut. */
const ellipsis = " […]";

/**
 * Shortens the tool results of all but the newest steps to one line each; removes no message. This is the gentlest way
 * to make room: old tool results are seldom needed again, and the calls still show what was done. Linear.
 *
 * @example
 * import { ChatHistoryTokenReducer, ChatHistoryToolResultReducer, pipeReducers } from "langchain-redis-memory";
 *
 * const reducer = pipeReducers(
 *   new ChatHistoryToolResultReducer({ keepLast: 3 }),
 *   new ChatHistoryTokenReducer({ maxTokens: 8_000 }),
 * );
 */
export class ChatHistoryToolResultReducer extends ChatHistoryReducer {
  readonly #keepLast: number;
  readonly #threshold: number;
  readonly #lineFor: (message: ToolMessage) => string;
  readonly #excluded: ReadonlySet<string>;

  /** @throws ConfigurationError naming the option. */
  constructor(options: ChatHistoryToolResultReducerOptions) {
    super();
    const {
      keepLast,
      thresholdCount = keepLast,
      maxCharacters,
      placeholder = (message: ToolMessage) => lineOf(message, maxCharacters),
      excludeTools,
    } = parseOptions("ChatHistoryToolResultReducer", schema(), options);
    this.#keepLast = keepLast;
    this.#threshold = thresholdCount;
    this.#lineFor = typeof placeholder === "string" ? () => placeholder : placeholder;
    this.#excluded = new Set(excludeTools);
  }

  static override lc_name(): string {
    return "ChatHistoryToolResultReducer";
  }

  override get viewLimit(): {
    /** The most records from the start on of a view that is left as it is. */
    readonly fromStart: number;
  } {
    // Each step with results has at least two messages, and whole ones are not in the head.
    return { fromStart: 2 * (this.#keepLast + this.#threshold) + 1 };
  }

  override async reduceWithOutcome(messages: BaseMessage[]): Promise<ReductionOutcome> {
    const steps = stepsOf(messages).filter(({ indexes }) => indexes.length > 1);
    const excluded = resultsOfTools(messages, this.#excluded);
    const short = messages.map((message, index) =>
      roleOf(message) === "tool" && !excluded.has(index) ? shortened(message as ToolMessage, this.#lineFor) : message,
    );
    const whole = steps.filter(({ indexes }) => indexes.some((index) => short[index] !== messages[index]));
    if (whole.length <= this.#keepLast + this.#threshold) {
      return unchanged(messages, { reason: "within_limit" });
    }
    const old = steps.slice(0, Math.max(0, steps.length - this.#keepLast)).flatMap(({ indexes }) => indexes);
    const result = [...messages];
    old.forEach((index) => (result[index] = short[index]!));
    const size = { messages: messages.length };
    return reduced(result, { removed: [], before: size, after: size });
  }
}

/** Indexes of the results of tools, by the name in the call, which a result need not repeat. */
export function resultsOfTools(messages: readonly BaseMessage[], names: ReadonlySet<string>): ReadonlySet<number> {
  if (names.size === 0) {
    return new Set();
  }
  const { callOf } = linkCalls(messages);
  const nameOf = (index: number) => callOf[index]?.name ?? messages[index]!.name ?? "";
  return new Set([...messages.keys()].filter((index) => names.has(nameOf(index))));
}

/** Shortens a result to one line; returns the message itself if that would not be shorter. */
function shortened(message: ToolMessage, lineFor: (message: ToolMessage) => string): ToolMessage {
  const { content } = message as { readonly content: unknown };
  if ((typeof content !== "string" && !Array.isArray(content)) || isScreenshot(message)) {
    return message;
  }
  const line = lineFor(message);
  const length = typeof content === "string" ? content.length : (jsonText(content)?.length ?? Infinity);
  return line.length < length ? withShorterContent(message, line) : message;
}

/** Ends a shortened result that the model can read again. */
const hint = /\n\[shortened by \d+ characters; read_earlier_messages\(\{.*\}\) shows all\]$/;

/** The line of a result, with a hint how to read all of it, where that saves more than it takes. */
export function lineWithHint(message: ToolMessage): string {
  const text = partsInWords(message).join(" ");
  const at = text.search(hint);
  if (at >= 0 && at <= defaultLine) {
    return text;
  }
  const line = lineOf(message, defaultLine);
  const id = answeredId(message);
  if (id === undefined || message.name === readEarlierName) {
    return line;
  }
  const call = `${readEarlierName}(${JSON.stringify({ toolCallId: id })})`;
  const more = `\n[shortened by ${text.length - line.length} characters; ${call} shows all]`;
  return text.length - line.length > 2 * more.length ? line + more : line;
}

function lineOf(message: ToolMessage, maxCharacters: number): string {
  const line = partsInWords(message).join(" ").replace(/\s+/g, " ").trim();
  if (line.length <= maxCharacters) {
    return line;
  }
  const ending = ellipsis.length < maxCharacters ? ellipsis : "";
  return keepFirstUnits(line, maxCharacters - ending.length).trimEnd() + ending;
}

/** Ends a clipped tool result; the transcript keeps the whole result. */
export const clipMarker = "\n[shortened to fit the context window]";

/** The tool results to clip, and by how much. */
export interface ClipRequest {
  /** Indexes of the tool messages that may be clipped, oldest first. */
  readonly indexes: readonly number[];
  /** Tokens to remove. */
  readonly excess: number;
  readonly counter: TokenCounter;
  /** Characters that stay of a result whatever the excess. @default 0 */
  readonly least?: number;
  /** The text of a result in about so many characters. @default its beginning, and a marker */
  readonly shorten?: ShortenResult | undefined;
}

/** Returns a text for a result that takes at most about so many characters. */
export type ShortenResult = (message: ToolMessage, characters: number) => string;

/**
 * Clips tool results, oldest first, until `excess` tokens are removed or nothing more can be. A clipped result is a new
 * message with the same id; it keeps its beginning, ends with a marker, and is always shorter than before, in
 * characters and in tokens. The larger the excess, the less stays.
 */
export async function clipToolResults(
  messages: readonly BaseMessage[],
  { indexes, excess, counter, least = 0, shorten }: ClipRequest,
): Promise<BaseMessage[]> {
  const result = [...messages];
  let left = excess;
  for (const index of indexes) {
    if (left <= 0) {
      break;
    }
    const tokens = await countOf(counter, result[index]!);
    const clipped = await clipToTokens(result[index] as ToolMessage, {
      ...{ allowed: tokens - left, counter, least, shorten },
    });
    if (clipped !== undefined) {
      result[index] = clipped;
      left -= tokens - (await countOf(counter, clipped));
    }
  }
  return result;
}

/** The share of its length by which each further try is shorter. */
const stepBack = 0.9;

/** Clips a message to about as much text as fits, at least to `least`; undefined if that would not be shorter. */
async function clipToTokens(
  message: ToolMessage,
  { allowed, counter, least, shorten }: ClipOfResult,
): Promise<ToolMessage | undefined> {
  const length = textOf(message).length;
  if (length === 0 || isScreenshot(message)) {
    return undefined;
  }
  const cutTo = (characters: number) =>
    withShorterContent(
      message,
      shorten === undefined ? contentUpTo(message.content, characters) : shorten(message, characters),
    );
  const smallest = cutTo(least);
  const tokens = await countOf(counter, message);
  if (textOf(smallest).length >= length || (await countOf(counter, smallest)) >= tokens) {
    return undefined;
  }
  const text = ownTextOf(message.content);
  const share = Math.min(1, allowed / tokens);
  const breathe = breather();
  for (let most = Math.floor(text.length * share); most > least; most = Math.floor(most * stepBack)) {
    const clipped = cutTo(graphemeBoundary(text, most));
    if (textOf(clipped).length < length && (await countOf(counter, clipped)) <= allowed) {
      return clipped;
    }
    await breathe();
  }
  return smallest;
}

interface ClipOfResult extends Pick<ClipRequest, "counter" | "shorten"> {
  /** Tokens that it may take. */
  readonly allowed: number;
  readonly least: number;
}

/** Returns the text of content, without our marker. */
function ownTextOf(content: MessageContent): string {
  const text = contentText(content);
  return text.endsWith(clipMarker) ? text.slice(0, -clipMarker.length) : text;
}

/** Cuts the text to `length` characters and adds the marker; blocks without text stay. */
function contentUpTo(content: MessageContent, length: number): MessageContent {
  if (typeof content === "string") {
    return content.slice(0, length) + clipMarker;
  }
  let left = length;
  let isCut = false;
  return content.flatMap((block) => {
    const text = blockText(block);
    if (text === "" || (!isCut && text.length <= left)) {
      left -= text.length;
      return [block];
    }
    if (isCut) {
      return [];
    }
    isCut = true;
    const clipped = text.slice(0, left) + clipMarker;
    return [
      typeof (block as unknown) === "string" ? (clipped as unknown as typeof block) : { ...block, text: clipped },
    ];
  });
}
