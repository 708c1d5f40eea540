import { z } from "zod";
import type { SystemMessages } from "../../conversation/sections.js";
import { ConfigurationError } from "../../errors.js";
import {
  lazy,
  nonNegativeInteger,
  objectWith,
  parseOptions,
  positiveInteger,
  type SchemaOutput,
} from "../../options.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { sectionFields } from "../section-options.js";
import type { SummaryModel } from "./summarizer.js";
import { countMeasure, tokenMeasure, type SummaryMeasure } from "./summary-measure.js";
import type { SummaryRole } from "./summary-message.js";
import { defaultInstructions } from "./summary-prompt.js";
import { budgetFields, budgetOf } from "../token-budget.js";

/** Options of {@link ChatHistorySummarizationReducer}. Either `targetCount` or `maxTokens` is required. */
export interface ChatHistorySummarizationReducerOptions {
  /** What writes the summaries: a chat model, or any Runnable that takes messages and gives text or a message. */
  readonly model: SummaryModel;
  /** Messages to keep beside the summary, system messages included. At least 1. */
  readonly targetCount?: number;
  /**
   * How many messages beyond the target there may be before a summary is made. With 0 one would be paid for after
   * almost every message.
   * @default targetCount
   */
  readonly thresholdCount?: number;
  /**
   * Tokens above which a summary is made, the counter's `perRequest` included. At least 1. Instead of `targetCount`.
   */
  readonly maxTokens?: number;
  /** Tokens to come down to, the summary included, from 1 to `maxTokens`. @default 75 % of maxTokens */
  readonly targetTokens?: number;
  /** Counts for `maxTokens` and `maxInputTokens`. @default tiktokenCounter() */
  readonly tokenCounter?: TokenCounter;
  /** Which system messages stay when messages are removed. @default "all" */
  readonly systemMessages?: SystemMessages;
  /**
   * What the model is told to do, as a system message.
   * @default instructions that ask for facts, decisions and open matters, briefly
   */
  readonly summarizationInstructions?: string;
  /** `true` carries one summary forward; `false` puts each new summary after the earlier ones. @default true */
  readonly useSingleSummary?: boolean;
  /**
   * With `useSingleSummary: false`, the number of summaries above which the oldest become one. At least 2.
   * @default 6
   */
  readonly maxSummaries?: number;
  /**
   * `true` throws a SummaryError where no summary could be made; `false` gives the messages as they are, with the error
   * in the outcome.
   * @default true
   */
  readonly failOnError?: boolean;
  /**
   * Whether arguments of tool calls and results of tools are told to the model, shortened; without them only the tools'
   * names are.
   * @default true
   */
  readonly includeFunctionContentInSummary?: boolean;
  /**
   * Length to which the arguments of a call, and a result, are shortened for the model, in UTF-16 code units. At least
   * 1.
   * @default 2000
   */
  readonly maxToolCharacters?: number;
  /**
   * The role that a summary has for the model. A second system message is refused by some providers, and an AI message
   * may be taken for an example.
   * @default "human"
   */
  readonly summaryRole?: SummaryRole;
  /** Milliseconds for all model calls of one summary together, from 1 to 2147483647. @default 60000 */
  readonly timeout?: number;
  /**
   * Tokens of one request to the model, at least 1000; what is longer is summarized in several requests.
   * @default 32000
   */
  readonly maxInputTokens?: number;
}

const minimumInputTokens = 1_000;

const schema = lazy(() =>
  z.strictObject({
    model: objectWith<SummaryModel>(["invoke"], "a chat model or another Runnable"),
    targetCount: positiveInteger.optional(),
    thresholdCount: nonNegativeInteger.optional(),
    ...budgetFields(),
    maxTokens: positiveInteger.optional(),
    systemMessages: sectionFields().systemMessages,
    summarizationInstructions: z.string("must be a text").min(1, "must not be empty").default(defaultInstructions),
    useSingleSummary: z.boolean("must be true or false").default(true),
    maxSummaries: z.int("must be an integer of 2 or more").min(2, "must be an integer of 2 or more").default(6),
    failOnError: z.boolean("must be true or false").default(true),
    includeFunctionContentInSummary: z.boolean("must be true or false").default(true),
    maxToolCharacters: positiveInteger.default(2_000),
    summaryRole: z.enum(["human", "system", "ai"], 'must be "human", "system" or "ai"').default("human"),
    timeout: positiveInteger.max(2_147_483_647, "must be at most 2147483647").default(60_000),
    maxInputTokens: z
      .int(`must be an integer of ${minimumInputTokens} or more`)
      .min(minimumInputTokens, `must be an integer of ${minimumInputTokens} or more`)
      .default(32_000),
  }),
);

/** The options, checked and with their defaults. */
export type SummarizationSettings = SchemaOutput<typeof schema> & { readonly measure: SummaryMeasure };

const owner = "ChatHistorySummarizationReducer";

/**
 * The options, checked, with their defaults and the measure that they mean.
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
      `${owner}: give either "targetCount" (messages) or "maxTokens" (tokens).`,
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
    throw new ConfigurationError(option, `${owner}: option "${option}" goes with "${partner}" only; remove it.`);
  }
}
