import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { cutByRounds } from "../messages/cuts.js";
import { sectionsOf, type SectionOptions } from "../messages/steps.js";
import { lazy, nonNegativeInteger, parseOptions, positiveInteger, type SchemaOutput } from "../../base/options.js";
import { ChatHistoryReducer, cutOutcome, type ReductionOutcome } from "./chat-history-reducer.js";
import { sectionFields } from "./truncation-reducer.js";

/** Options of {@link ChatHistoryRoundReducer}. */
export interface ChatHistoryRoundReducerOptions extends SectionOptions {
  /** Rounds to keep, that of a question without an answer included. At least 1. */
  readonly targetRounds: number;
  /**
   * How many rounds above the target are allowed before any is removed. Above 0, the beginning of the prompt stays the
   * same for that many rounds, so that the provider's prompt cache works.
   * @default 0
   */
  readonly thresholdRounds?: number;
}

const schema = lazy(() =>
  z.strictObject({
    targetRounds: positiveInteger(),
    thresholdRounds: z._default(nonNegativeInteger(), 0),
    ...sectionFields(),
  }),
);

/**
 * Keeps the newest rounds whole, with all system messages and summaries. A round is a human message and everything up
 * to the next one; messages before the first human message stay until a round leaves.
 *
 * @example
 * import { ChatHistoryRoundReducer, RedisChatMemory } from "langchain-redis-memory";
 *
 * const reducer = new ChatHistoryRoundReducer({ targetRounds: 5, thresholdRounds: 5 });
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", reducer });
 */
export class ChatHistoryRoundReducer extends ChatHistoryReducer {
  readonly #options: SchemaOutput<typeof schema>;

  /** @throws ConfigurationError naming the option. */
  constructor(options: ChatHistoryRoundReducerOptions) {
    super();
    this.#options = parseOptions("ChatHistoryRoundReducer", schema(), options);
  }

  static override lc_name(): string {
    return "ChatHistoryRoundReducer";
  }

  override get viewLimit(): {
    /** The most messages of a view that surely has no round too many: each has at least one. */
    readonly messages: number;
  } {
    return { messages: this.#options.targetRounds + this.#options.thresholdRounds };
  }

  override async reduceWithOutcome(messages: BaseMessage[]): Promise<ReductionOutcome> {
    const { targetRounds: target, thresholdRounds: threshold, ...sections } = this.#options;
    return cutOutcome(messages, cutByRounds(messages, sectionsOf(messages, sections), { target, threshold }));
  }
}
