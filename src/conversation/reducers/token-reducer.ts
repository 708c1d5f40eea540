import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { sectionsOf, type SectionOptions, type Sections, findBoundaries } from "../messages/steps.js";
import { BudgetError, ConfigurationError } from "../../base/errors.js";
import { lazy, parseOptions, type SchemaOutput, positiveInteger } from "../../base/options.js";
import { type TokenCounter, counterField, countMessages, countEach } from "../tokens/counted-messages.js";
import { ChatHistoryReducer, reduced, unchanged, type ReductionOutcome } from "./chat-history-reducer.js";
import { sectionFields } from "./truncation-reducer.js";
import { cutByTokens, type NoCut } from "../messages/cuts.js";
import { roleOf } from "../messages/message.js";
import { tiktokenCounter } from "../tokens/counters/tiktoken-counter.js";
import { clipToolResults } from "./tool-result-reducer.js";

/** Options of {@link ChatHistoryTokenReducer}. */
export interface ChatHistoryTokenReducerOptions extends TokenBudgetOptions, SectionOptions {
  /** Whether to clip tool results of the newest step if nothing else helps. @default true */
  readonly clipToolResults?: boolean;
  /**
   * Reaction to a result that still does not fit: report it in the outcome (`overBudgetBy`), or throw a BudgetError.
   * @default "report"
   */
  readonly onOverBudget?: "report" | "throw";
}

const schema = lazy(() =>
  z.strictObject({
    ...budgetFields(),
    ...sectionFields(),
    clipToolResults: z._default(z.boolean("must be true or false"), true),
    onOverBudget: z._default(z.enum(["report", "throw"], 'must be "report" or "throw"'), "report"),
  }),
);

interface Reduction {
  readonly messages: BaseMessage[];
  readonly result: readonly BaseMessage[];
  readonly removed: BaseMessage[];
  readonly before: number;
}

/**
 * Keeps the newest messages that fit a token budget, with all system messages and summaries.
 *
 * Above `maxTokens`, it removes the oldest steps until `targetTokens` are reached. Steps stay whole, and if the cut is
 * inside a round, the round's human message stays. It clips tool results, oldest first, only if the newest step alone
 * exceeds `maxTokens`. The newest human message always stays unchanged. Each message is counted once, and not at all if
 * a history stored its count.
 *
 * @example
 * import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
 * import { ChatPromptTemplate } from "@langchain/core/prompts";
 * import { ChatHistoryTokenReducer } from "langchain-redis-memory";
 *
 * const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], ["placeholder", "{history}"]]);
 * const reducer = new ChatHistoryTokenReducer({ maxTokens: 8_000 });
 * export const chainWith = (model: BaseChatModel) => prompt.pipe(reducer).pipe(model);
 */
export class ChatHistoryTokenReducer extends ChatHistoryReducer {
  readonly #options: SchemaOutput<typeof schema>;
  readonly #budget: TokenBudget;
  override readonly tokenCounter: TokenCounter;

  /** @throws ConfigurationError naming the option. */
  constructor(options: ChatHistoryTokenReducerOptions) {
    super();
    const owner = "ChatHistoryTokenReducer";
    this.#options = parseOptions(owner, schema(), options);
    this.#budget = budgetOf(owner, options);
    this.tokenCounter = this.#budget.counter;
  }

  static override lc_name(): string {
    return "ChatHistoryTokenReducer";
  }

  override get viewLimit(): {
    /** The most tokens of a view that is left as it is, without `perRequest`. */
    readonly tokens: number;
  } {
    return { tokens: Math.max(0, this.#budget.maxTokens - this.tokenCounter.perRequest) };
  }

  /** @throws BudgetError if the result does not fit and `onOverBudget` is `throw`. */
  override async reduceWithOutcome(messages: BaseMessage[]): Promise<ReductionOutcome> {
    const before = await countMessages(this.tokenCounter, messages);
    const sections = sectionsOf(messages, this.#options);
    const cut = await cutToBudget(messages, { sections, budget: this.#budget });
    if (cut === "within_limit") {
      return unchanged(messages, { reason: "within_limit", tokens: before });
    }
    const indexes = cut === "nothing_removable" ? [...messages.keys()] : cut;
    const staying = indexes.map((index) => messages[index]!);
    const { clipToolResults: clips } = this.#options;
    const result = clips ? await clipToBudget(staying, this.#budget) : staying;
    const stays = new Set(indexes);
    return this.#outcome({ messages, result, before, removed: messages.filter((_, index) => !stays.has(index)) });
  }

  async #outcome(run: Reduction): Promise<ReductionOutcome> {
    const { messages, result, removed, before } = run;
    const { maxTokens } = this.#budget;
    const after = await countMessages(this.tokenCounter, result);
    const overBudgetBy = Math.max(0, after - maxTokens);
    if (overBudgetBy > 0 && this.#options.onOverBudget === "throw") {
      throw new BudgetError(
        `The messages that must stay take ${after} tokens, but "maxTokens" allows ${maxTokens}; ` +
          "raise it, or shorten the newest messages.",
        { needed: after, allowed: maxTokens },
      );
    }
    if (after >= before) {
      return unchanged(messages, { reason: "nothing_removable", tokens: before, overBudgetBy });
    }
    return reduced(result, {
      removed,
      overBudgetBy,
      before: { messages: messages.length, tokens: before },
      after: { messages: result.length, tokens: after },
    });
  }
}

/** Options of reducers that measure in tokens. */
export interface TokenBudgetOptions {
  /** Maximum tokens of a request, including the counter's `perRequest`. At least 1. Leave room for the answer. */
  readonly maxTokens: number;
  /**
   * Tokens to reduce to when the maximum is exceeded, from 1 to `maxTokens`. Until the conversation has grown by the
   * difference, the beginning of the prompt stays the same, so that the provider's prompt cache works.
   * @default 80 % of maxTokens
   */
  readonly targetTokens?: number;
  /** Counts tokens. @default tiktokenCounter() */
  readonly tokenCounter?: TokenCounter;
}

/** A token budget with its defaults resolved. */
export interface TokenBudget {
  readonly maxTokens: number;
  readonly targetTokens: number;
  readonly counter: TokenCounter;
}

/** The knee of the measured curve: above it the price of what the model sees more grows faster than that. */
const defaultTargetShare = 0.8;

/** Schema fields of {@link TokenBudgetOptions}. */
export const budgetFields = lazy(() => ({
  maxTokens: positiveInteger(),
  targetTokens: z.optional(positiveInteger()),
  tokenCounter: counterField(),
}));

/**
 * Resolves the options to a budget.
 *
 * @throws ConfigurationError if the target exceeds the maximum.
 */
export function budgetOf(owner: string, { maxTokens, targetTokens, tokenCounter }: TokenBudgetOptions): TokenBudget {
  if (targetTokens !== undefined && targetTokens > maxTokens) {
    throw new ConfigurationError(
      "targetTokens",
      `${owner}: option "targetTokens" must not exceed "maxTokens" (${maxTokens}); got ${targetTokens}.`,
    );
  }
  return {
    maxTokens,
    targetTokens: targetTokens ?? Math.max(1, Math.floor(maxTokens * defaultTargetShare)),
    counter: tokenCounter ?? tiktokenCounter(),
  };
}

/** Returns the indexes of the messages that stay within a budget; keeps `reserve` tokens free for another message. */
export async function cutToBudget(
  messages: readonly BaseMessage[],
  {
    sections,
    budget,
    reserve,
  }: { readonly sections: Sections; readonly budget: TokenBudget; readonly reserve?: number },
): Promise<number[] | NoCut> {
  const { counter, maxTokens, targetTokens } = budget;
  const tokens = await countEach(counter, messages);
  return cutByTokens(messages, sections, {
    tokens,
    perRequest: counter.perRequest,
    maxTokens,
    targetTokens,
    ...(reserve !== undefined && { reserve }),
  });
}

/** Clips the tool results of the newest step as far as the budget requires. */
export async function clipToBudget(messages: readonly BaseMessage[], budget: TokenBudget): Promise<BaseMessage[]> {
  const excess = (await countMessages(budget.counter, messages)) - budget.maxTokens;
  if (excess <= 0) {
    return [...messages];
  }
  const rest = [...messages.keys()].filter((index) => !["system", "summary"].includes(roleOf(messages[index]!)));
  const newestStep = findBoundaries(rest.map((index) => messages[index]!)).lastIndexOf(1, rest.length - 1);
  const indexes = rest.slice(Math.max(0, newestStep)).filter((index) => roleOf(messages[index]!) === "tool");
  return clipToolResults(messages, { indexes, excess, counter: budget.counter });
}
