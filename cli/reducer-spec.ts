import { RunnableLambda } from "@langchain/core/runnables";
import { ConfigurationError } from "../src/base/errors.js";
import { pipeReducers } from "../src/reducers/pipe-reducers.js";
import type { ChatHistoryReducer } from "../src/reducers/chat-history-reducer.js";
import { ChatHistorySummarizationReducer } from "../src/reducers/summary/summarization-reducer.js";
import { ChatHistoryTokenReducer } from "../src/reducers/token-reducer.js";
import { ChatHistoryToolResultReducer } from "../src/reducers/tool-result-reducer.js";
import { ChatHistoryTruncationReducer } from "../src/reducers/truncation-reducer.js";
import { contextWindow } from "../src/reducers/window/context-window.js";
import type { ContextWindowOptions } from "../src/reducers/window/options.js";
import { tiktokenCounter } from "../src/tokens/counters/tiktoken-counter.js";
import type { NamedReducer } from "../src/reducers/simulation/simulate-reducers.js";
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
  tools:3,token:8000/6400  one behind the other
  window:8192              contextWindow, with --system and --tools`;

/** Stands for a summary, since no model is called. */
export interface SummarySetting {
  /** Words of a summary, each of about one token. */
  readonly summaryTokens: number;
  /** Parts of each request that contextWindow counts. @default none */
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

const form = /^(truncate|token|summarize|tools|window):(\d+)(?:([+/])(\d+))?$/;

function single(part: string, { summaryTokens, request }: SummarySetting): ChatHistoryReducer {
  const [, kind, first, separator, second] = form.exec(part) ?? [];
  const [size, other] = [Number(first), second === undefined ? undefined : Number(second)];
  const counts = { targetCount: size, ...(other !== undefined && { thresholdCount: other }) };
  const tokens = { maxTokens: size, ...(other !== undefined && { targetTokens: other }) };
  try {
    if (kind === "truncate" && separator !== "/") {
      return new ChatHistoryTruncationReducer(counts);
    }
    if (kind === "token" && separator !== "+") {
      return new ChatHistoryTokenReducer(tokens);
    }
    if (kind === "summarize") {
      const model = RunnableLambda.from(() => "word ".repeat(summaryTokens).trim());
      const limits = separator === "/" ? tokens : counts;
      return new ChatHistorySummarizationReducer({ model, failOnError: false, ...limits });
    }
    if (kind === "window" && separator === undefined) {
      return contextWindow({ maxInputTokens: size, tokenCounter: tiktokenCounter(), ...request });
    }
    if (kind === "tools" && separator === undefined) {
      return new ChatHistoryToolResultReducer({ keepLast: size });
    }
  } catch (error) {
    throw ConfigurationError.isInstance(error) ? new UsageError(`--reducer ${part}: ${error.message}`) : error;
  }
  throw new UsageError(`--reducer: "${part.slice(0, 60)}" is no reducer; see --help for the ways to write one.`);
}
