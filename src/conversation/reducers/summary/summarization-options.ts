import * as z from "zod/mini";
import type { BaseMessage } from "@langchain/core/messages";
import type { SystemMessages, Sections } from "../../messages/steps.js";
import { ConfigurationError } from "../../../base/errors.js";
import { lazy, nonNegativeInteger, objectWith, parseOptions, positiveInteger } from "../../../base/options.js";
import type { SchemaOutput } from "../../../base/options.js";
import { type TokenCounter, countMessages, countTotal } from "../../tokens/counted-messages.js";
import { type SummaryModel, defaultInstructions } from "./summarizer.js";
import type { SummaryRole } from "../../messages/summary-message.js";
import { budgetFields, budgetOf, clipToBudget, cutToBudget, type TokenBudget } from "../token-reducer.js";
import { sectionFields } from "../truncation-reducer.js";
import { cutByCount, type CountTarget, type NoCut } from "../../messages/cuts.js";
import type { ViewLimit } from "../chat-history-reducer.js";

/** Options of {@link ChatHistorySummarizationReducer}. Either `targetCount` or `maxTokens` is required. */
export interface ChatHistorySummarizationReducerOptions {
  /** Writes the summaries: a chat model, or any Runnable from messages to text or a message. */
  readonly model: SummaryModel;
  /** Messages to keep besides the summary, including system messages. At least 1. */
  readonly targetCount?: number;
  /**
   * How many messages above the target are allowed before a summary is written. With 0, you would pay for a summary
   * after almost every message.
   * @default targetCount
   */
  readonly thresholdCount?: number;
  /** Tokens above which a summary is written, including `perRequest`. At least 1. Instead of `targetCount`. */
  readonly maxTokens?: number;
  /** Tokens to reduce to, including the summary, from 1 to `maxTokens`. @default 80 % of maxTokens */
  readonly targetTokens?: number;
  /** Counts tokens for `maxTokens` and `maxInputTokens`. @default tiktokenCounter() */
  readonly tokenCounter?: TokenCounter;
  /** Which system messages stay when messages are removed. @default "all" */
  readonly systemMessages?: SystemMessages;
  /**
   * The system message for the model.
   * @default instructions that ask for a brief account of facts, decisions and open questions
   */
  readonly summarizationInstructions?: string;
  /** `true` keeps one summary and updates it; `false` adds each new summary after the earlier ones. @default true */
  readonly useSingleSummary?: boolean;
  /**
   * With `useSingleSummary: false`, the number of summaries behind which the next one replaces them all. At least 2.
   * @default 6
   */
  readonly maxSummaries?: number;
  /**
   * `true` throws a SummaryError if no summary could be written; `false` returns the messages unchanged, with the error
   * in the outcome.
   * @default true
   */
  readonly failOnError?: boolean;
  /**
   * Whether the model sees the shortened arguments and results of tool calls; otherwise it sees only the tools' names.
   * @default true
   */
  readonly includeFunctionContentInSummary?: boolean;
  /**
   * The role of a summary message. Some providers refuse a second system message, and a model may imitate an AI
   * message.
   * @default "human"
   */
  readonly summaryRole?: SummaryRole;
  /** Timeout for all model calls of one summary together, in milliseconds, from 1 to 2147483647. @default 60000 */
  readonly timeout?: number;
  /**
   * Maximum tokens of one request to the model. At least 1000. Longer conversations are summarized in several requests.
   * @default 32000
   */
  readonly maxInputTokens?: number;
}

const minimumInputTokens = 1_000;

const schema = lazy(() =>
  z.strictObject({
    model: objectWith<SummaryModel>(["invoke"], "a chat model or another Runnable"),
    targetCount: z.optional(positiveInteger()),
    thresholdCount: z.optional(nonNegativeInteger()),
    ...budgetFields(),
    maxTokens: z.optional(positiveInteger()),
    ...sectionFields(),
    summarizationInstructions: z._default(
      z.string("must be a string").check(z.minLength(1, "must not be empty")),
      defaultInstructions,
    ),
    useSingleSummary: z._default(z.boolean("must be true or false"), true),
    maxSummaries: z._default(
      z.int("must be an integer of 2 or more").check(z.minimum(2, "must be an integer of 2 or more")),
      6,
    ),
    failOnError: z._default(z.boolean("must be true or false"), true),
    includeFunctionContentInSummary: z._default(z.boolean("must be true or false"), true),
    summaryRole: z._default(z.enum(["human", "system", "ai"], 'must be "human", "system" or "ai"'), "human"),
    timeout: z._default(positiveInteger().check(z.maximum(2_147_483_647, "must be at most 2147483647")), 60_000),
    maxInputTokens: z._default(
      z
        .int(`must be an integer of ${minimumInputTokens} or more`)
        .check(z.minimum(minimumInputTokens, `must be an integer of ${minimumInputTokens} or more`)),
      32_000,
    ),
  }),
);

/** The checked options with their defaults. */
export type SummarizationSettings = SchemaOutput<typeof schema> & {
  readonly measure: SummaryMeasure;
};

const owner = "ChatHistorySummarizationReducer";

/**
 * Checks the options, and adds their defaults and the measure.
 *
 * @throws ConfigurationError naming the option.
 */
export function summarizationSettings(options: ChatHistorySummarizationReducerOptions): SummarizationSettings {
  const settings = parseOptions(owner, schema(), options);
  return { ...settings, measure: measureOf(settings) };
}

function measureOf(settings: SchemaOutput<typeof schema>): SummaryMeasure {
  const { targetCount, thresholdCount, maxTokens, targetTokens, tokenCounter } = settings;
  if ((targetCount === undefined) === (maxTokens === undefined)) {
    throw new ConfigurationError(
      "targetCount",
      `${owner}: exactly one of "targetCount" (messages) and "maxTokens" (tokens) is required.`,
    );
  }
  if (targetCount !== undefined) {
    refuse("targetTokens", targetTokens, "maxTokens");
    return countMeasure({ target: targetCount, threshold: thresholdCount ?? targetCount });
  }
  refuse("thresholdCount", thresholdCount, "targetCount");
  return tokenMeasure(budgetOf(owner, { maxTokens: maxTokens!, targetTokens, tokenCounter }));
}

function refuse(option: string, value: unknown, partner: string): void {
  if (value !== undefined) {
    throw new ConfigurationError(option, `${owner}: option "${option}" requires "${partner}"; remove it.`);
  }
}

/** A summary to check, with the messages before and after the reduction. */
interface JudgedSummary {
  readonly before: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
  readonly summary: BaseMessage;
  /** The text that it replaces. */
  readonly source: string;
}

/** How a summarization reducer measures: in messages or in tokens. */
interface SummaryMeasure {
  readonly viewLimit: ViewLimit;
  /** Undefined if tokens do not matter. */
  readonly tokenCounter: TokenCounter | undefined;
  /** Returns the indexes of what stays beside a new summary; `replaced` holds the summaries that it will replace. */
  cut(
    messages: readonly BaseMessage[],
    sections: Sections,
    replaced: readonly BaseMessage[],
  ): Promise<number[] | NoCut>;
  /** Returns the messages, clipped if the measure requires it. */
  fit(messages: readonly BaseMessage[]): Promise<BaseMessage[]>;
  overBudgetBy(messages: readonly BaseMessage[]): Promise<number>;
  isTooLong(judged: JudgedSummary): Promise<boolean>;
}

/** A few sentences are never too long, however short the text that they replace. */
const alwaysAllowedCharacters = 1_000;

/** The share of the target that is reserved for a first summary. */
const summaryShare = 1 / 8;

/** Creates the measure for `targetCount` and `thresholdCount`. */
function countMeasure(target: CountTarget): SummaryMeasure {
  return {
    viewLimit: { messages: target.target + target.threshold },
    tokenCounter: undefined,
    cut: async (messages, sections) => {
      const indexes = cutByCount(messages, sections, target);
      // The summary is a message too, so it must replace more than one.
      return typeof indexes === "string" || indexes.length + 1 < messages.length ? indexes : "nothing_removable";
    },
    fit: async (messages) => [...messages],
    overBudgetBy: async () => 0,
    isTooLong: async ({ before, after, summary, source }) =>
      after.length >= before.length || summary.text.length > Math.max(alwaysAllowedCharacters, source.length),
  };
}

/** Creates the measure for `maxTokens` and `targetTokens`. */
function tokenMeasure(budget: TokenBudget): SummaryMeasure {
  const { counter, maxTokens, targetTokens } = budget;
  return {
    get viewLimit() {
      return { tokens: Math.max(0, maxTokens - counter.perRequest) };
    },
    tokenCounter: counter,
    cut: async (messages, sections, replaced) => {
      const expected = await countTotal(counter, replaced);
      return cutToBudget(messages, {
        sections,
        budget,
        reserve: Math.max(expected, Math.floor(targetTokens * summaryShare)),
      });
    },
    fit: (messages) => clipToBudget(messages, budget),
    overBudgetBy: async (messages) => Math.max(0, (await countMessages(counter, messages)) - maxTokens),
    isTooLong: async ({ before, after, summary }) => {
      const size = await countMessages(counter, after);
      const own = await countTotal(counter, [summary]);
      return size >= (await countMessages(counter, before)) || (size > maxTokens && size - own <= maxTokens);
    },
  };
}
