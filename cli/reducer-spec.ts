import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { ConfigurationError } from "../src/base/errors.js";
import { pipeReducers } from "../src/conversation/reducers/pipe-reducers.js";
import { ChatHistoryReducer } from "../src/conversation/reducers/chat-history-reducer.js";
import { ChatHistorySummarizationReducer } from "../src/conversation/reducers/summary/summarization-reducer.js";
import { ChatHistoryTokenReducer } from "../src/conversation/reducers/token-reducer.js";
import { ChatHistoryToolResultReducer } from "../src/conversation/reducers/tool-result-reducer.js";
import { ChatHistoryTruncationReducer } from "../src/conversation/reducers/truncation-reducer.js";
import { contextWindow } from "../src/conversation/reducers/window/context-window.js";
import type { ContextWindowOptions } from "../src/conversation/reducers/window/options.js";
import { promptTokens } from "../src/conversation/reducers/window/request-size.js";
import { countMessages } from "../src/conversation/tokens/counted-messages.js";
import { tiktokenCounter } from "../src/conversation/tokens/counters/tiktoken-counter.js";
import type { NamedReducer } from "./simulation/simulate-reducers.js";
import { UsageError } from "./failure.js";

/** How a reducer is written on the command line, for `--help`. */
export const reducerSpecHelp = `
Reducers:
  none                     never cut
  truncate:20+10           to 20 messages when there are more than 30
  token:8000/6400          to 6,400 tokens when there are more than 8,000
  summarize:20+10          a summary instead of what exceeds 20 messages
  summarize:8000/6400      the same, by tokens
  tools:3                  results before the last 3 tool steps are shortened
  tools:3@4000             the same, where a request exceeds 4,000 tokens
  tools:3@4000+800         ... and at least 800 become free
  tools:3,token:8000/6400  one behind the other
  window:8192              contextWindow in a window of 8,192 tokens
  window:8000/6400         contextWindow in a room of 8,000, down to 6,400
  window+summary:8000/6400 the same, with a summary of what leaves
Tokens are those of requests: --system and --tools take their part of them.`;

/** Stands for a summary, since no model is called. */
export interface SummarySetting {
  /** Words of a summary, each of about one token. */
  readonly summaryTokens: number;
  /** Parts of each request besides its messages. @default none */
  readonly request?: Pick<ContextWindowOptions, "systemPrompt" | "tools">;
}

/**
 * The reducer that a text such as `token:8000/6400` describes.
 *
 * @throws UsageError that says what is wrong and how to write it.
 */
export function reducerOf(spec: string, setting: SummarySetting): NamedReducer {
  if (spec === "none") {
    return { name: spec };
  }
  const parts = spec.split(",").map((part) => single(part.trim(), setting));
  return { name: spec, reducer: parts.length === 1 ? parts[0]! : pipeReducers(...(parts as [ChatHistoryReducer])) };
}

/**
 * The ways to keep requests within a room that docs/reducers.md compares: none, each reducer, those of other
 * packages that shorten results long before the room is full, and contextWindow.
 */
export function policiesFor(room: number): string[] {
  const share = (percent: number) => Math.max(1, Math.floor((room * percent) / 100));
  const cut = `token:${room}/${share(80)}`;
  return [
    "none",
    cut,
    `tools:4@${share(50)},token:${share(80)}/${share(50)}`,
    `tools:3@${share(50)},${cut}`,
    `tools:3@${share(50)}+${share(10)},${cut}`,
    `tools:3,${cut}`,
    ...[80, 60].map((target) => `summarize:${room}/${share(target)}`),
    ...[80, 60].map((target) => `window:${room}/${share(target)}`),
    ...[80, 60].map((target) => `window+summary:${room}/${share(target)}`),
  ];
}

const form = /^(truncate|token|summarize|tools|window|window\+summary):(\d+)(?:([+/@])(\d+)(?:\+(\d+))?)?$/;

/** A part of a spec, read. */
interface Numbers {
  readonly size: number;
  readonly other: number | undefined;
  readonly least: number | undefined;
}

function single(part: string, setting: SummarySetting): ChatHistoryReducer {
  const [, kind, first, separator, second, third] = form.exec(part) ?? [];
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  const numbers = { size: Number(first), other: number(second), least: number(third) };
  const make = third === undefined || separator === "@" ? makers[`${kind}${separator ?? ""}`] : undefined;
  try {
    if (make !== undefined) {
      return make(numbers, setting);
    }
  } catch (error) {
    throw ConfigurationError.isInstance(error) ? new UsageError(`--reducer ${part}: ${error.message}`) : error;
  }
  throw new UsageError(`--reducer: "${part.slice(0, 60)}" is no reducer; see --help for the ways to write one.`);
}

/** By kind and separator. */
const makers: Readonly<Record<string, (numbers: Numbers, setting: SummarySetting) => ChatHistoryReducer>> = {
  truncate: (numbers) => new ChatHistoryTruncationReducer(countsOf(numbers)),
  "truncate+": (numbers) => new ChatHistoryTruncationReducer(countsOf(numbers)),
  token: (numbers, setting) => new ChatHistoryTokenReducer(tokensOf(numbers, setting)),
  "token/": (numbers, setting) => new ChatHistoryTokenReducer(tokensOf(numbers, setting)),
  summarize: (numbers, setting) => summarizing(countsOf(numbers), setting),
  "summarize+": (numbers, setting) => summarizing(countsOf(numbers), setting),
  "summarize/": (numbers, setting) => summarizing(tokensOf(numbers, setting), setting),
  tools: ({ size }) => new ChatHistoryToolResultReducer({ keepLast: size }),
  "tools@": ({ size, other = 0, least = 0 }, setting) => {
    const inner = new ChatHistoryToolResultReducer({ keepLast: size, thresholdCount: 0 });
    return new FromSizeOn(inner, { from: other - fixedTokens(setting), least });
  },
  window: ({ size }, { request }) =>
    contextWindow({ maxInputTokens: size, tokenCounter: tiktokenCounter(), ...request }),
  "window/": (numbers, setting) => contextWindow(roomOptions(numbers, setting)),
  "window+summary/": (numbers, setting) =>
    contextWindow({ ...roomOptions(numbers, setting), summary: { model: writer(setting) } }),
};

const countsOf = ({ size, other }: Numbers) => ({
  targetCount: size,
  ...(other !== undefined && { thresholdCount: other }),
});

/** Sizes are those of requests, of which system prompt and tools take their part. */
function tokensOf({ size, other }: Numbers, setting: SummarySetting) {
  const fixed = fixedTokens(setting);
  return { maxTokens: size - fixed, ...(other !== undefined && { targetTokens: other - fixed }) };
}

const fixedTokens = ({ request: { systemPrompt, tools = [] } = {} }: SummarySetting) =>
  promptTokens({ systemPrompt, tools: [...tools] });

const writer = ({ summaryTokens }: SummarySetting) => RunnableLambda.from(() => "word ".repeat(summaryTokens).trim());

function summarizing(limits: ReturnType<typeof countsOf> | ReturnType<typeof tokensOf>, setting: SummarySetting) {
  return new ChatHistorySummarizationReducer({ model: writer(setting), failOnError: false, ...limits });
}

/** All of the window is room: what is left for the answer is not told. */
function roomOptions({ size, other = size }: Numbers, { request }: SummarySetting): ContextWindowOptions {
  const room = { maxInputTokens: size, reserveForAnswer: 0, safetyMargin: 0, target: other / size };
  return { ...room, tokenCounter: tiktokenCounter(), ...request };
}

/** A reducer that is asked from a size on, and whose result counts where it frees enough. */
class FromSizeOn extends ChatHistoryReducer {
  override readonly tokenCounter = tiktokenCounter();
  readonly #inner: ChatHistoryReducer;
  readonly #from: number;
  readonly #least: number;

  constructor(inner: ChatHistoryReducer, { from, least }: { readonly from: number; readonly least: number }) {
    super();
    this.#inner = inner;
    this.#from = from;
    this.#least = least;
  }

  override get viewLimit() {
    return { tokens: Math.max(0, this.#from) };
  }

  override async reduce(messages: BaseMessage[]): Promise<BaseMessage[] | null> {
    const tokens = await countMessages(this.tokenCounter, messages);
    const reduced = tokens > this.#from ? await this.#inner.reduce(messages) : null;
    const frees = reduced === null ? 0 : tokens - (await countMessages(this.tokenCounter, reduced));
    return frees > 0 && frees >= this.#least ? reduced : null;
  }
}
