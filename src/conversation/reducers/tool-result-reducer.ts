import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { keepFirstUnits } from "../../base/graphemes.js";
import { jsonText } from "../../base/json-text.js";
import { answeredId, linkCalls, readEarlierName } from "../messages/calls.js";
import { partsInWords } from "../messages/content.js";
import { isScreenshot, roleOf } from "../messages/roles.js";
import { stepsOf } from "../messages/steps.js";
import { lazy, nonEmptyText, nonNegativeInteger, parseOptions, positiveInteger } from "../../base/options.js";
import { ChatHistoryReducer } from "./chat-history-reducer.js";
import { reduced, unchanged, withShorterContent, type ReductionOutcome } from "./reduction-outcome.js";

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
