import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { cutByCount, cutByRounds } from "../messages/cuts.js";
import { sectionsOf, type SectionOptions } from "../messages/steps.js";
import { lazy, nonNegativeInteger, parseOptions, positiveInteger, type SchemaOutput } from "../../base/options.js";
import { ChatHistoryReducer, cutOutcome, type ReductionOutcome } from "./chat-history-reducer.js";

/** Options of {@link ChatHistoryTruncationReducer}. */
export interface ChatHistoryTruncationReducerOptions extends SectionOptions {
  /** Messages to keep, including system messages but not summaries. At least 1. The newest step always stays whole. */
  readonly targetCount: number;
  /**
   * How many messages above the target are allowed before anything is removed, and how far the cut may move back to
   * begin with a human message. Above 0, the beginning of the prompt stays the same for that many messages, so that the
   * provider's prompt cache works.
   * @default 0
   */
  readonly thresholdCount?: number;
}

const schema = lazy(() =>
  z.strictObject({
    targetCount: positiveInteger(),
    thresholdCount: z._default(nonNegativeInteger(), 0),
    ...sectionFields(),
  }),
);

/**
 * Keeps the newest messages, with all system messages and summaries.
 *
 * Steps stay whole, and if the cut is inside a round, the round's human message stays in front. So a round of fifty
 * tool calls can be cut, and the rest is still a conversation that every provider accepts. Linear.
 *
 * @example
 * import { ChatHistoryTruncationReducer, RedisChatMemory } from "langchain-redis-memory";
 *
 * const reducer = new ChatHistoryTruncationReducer({ targetCount: 20, thresholdCount: 10 });
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", reducer });
 */
export class ChatHistoryTruncationReducer extends ChatHistoryReducer {
  readonly #options: SchemaOutput<typeof schema>;

  /** @throws ConfigurationError naming the option. */
  constructor(options: ChatHistoryTruncationReducerOptions) {
    super();
    this.#options = parseOptions("ChatHistoryTruncationReducer", schema(), options);
  }

  static override lc_name(): string {
    return "ChatHistoryTruncationReducer";
  }

  override get viewLimit(): {
    /** The most messages of a view that is left as it is. */
    readonly messages: number;
  } {
    return { messages: this.#options.targetCount + this.#options.thresholdCount };
  }

  override async reduceWithOutcome(messages: BaseMessage[]): Promise<ReductionOutcome> {
    const { targetCount: target, thresholdCount: threshold, ...sections } = this.#options;
    return cutOutcome(messages, cutByCount(messages, sectionsOf(messages, sections), { target, threshold }));
  }
}

/** Schema fields of the options that say which messages always stay. */
export const sectionFields = lazy(() => ({
  systemMessages: z._default(z.enum(["all", "first", "latest"], 'must be "all", "first" or "latest"'), "all"),
}));

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

const roundsSchema = lazy(() =>
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
  readonly #options: SchemaOutput<typeof roundsSchema>;

  /** @throws ConfigurationError naming the option. */
  constructor(options: ChatHistoryRoundReducerOptions) {
    super();
    this.#options = parseOptions("ChatHistoryRoundReducer", roundsSchema(), options);
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
