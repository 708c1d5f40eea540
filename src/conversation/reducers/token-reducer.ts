import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { sectionsOf, type SectionOptions } from "../messages/sections.js";
import { BudgetError } from "../../base/errors.js";
import { lazy, parseOptions, type SchemaOutput } from "../../base/options.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { ChatHistoryReducer } from "./chat-history-reducer.js";
import { reduced, unchanged, type ReductionOutcome } from "./reduction-outcome.js";
import { sectionFields } from "./options.js";
import { countMessages } from "../tokens/counted-messages.js";
import {
  budgetFields,
  budgetOf,
  clipToBudget,
  cutToBudget,
  type TokenBudget,
  type TokenBudgetOptions,
} from "./token-budget.js";

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
