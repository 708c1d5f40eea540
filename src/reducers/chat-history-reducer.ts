import type { CallbackManagerForChainRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import { patchConfig, Runnable, type RunnableConfig } from "@langchain/core/runnables";
import type { TokenCounter } from "../tokens/token-counter.js";
import { messagesOf, type ReducerInput } from "./reducer-input.js";
import { removedMessages, unchanged, viewSize, type ReductionOutcome } from "./reduction-outcome.js";

/**
 * Makes a list of messages smaller, or leaves it as it is. A Runnable: it stands behind a prompt, before a model, or in
 * a history, which stores what it gives.
 *
 * A reducer of your own implements `reduce`. It must keep steps whole (an AI message and the results of its tool
 * calls), must not change the messages that it is given, and should give the objects that it keeps as they are.
 *
 * @example
 * class DropGreetings extends ChatHistoryReducer {
 *   async reduce(messages) {
 *     const first = messages.findIndex((message) => message.getType() === "human");
 *     return first > 0 ? messages.slice(first) : null;
 *   }
 * }
 * const chain = prompt.pipe(new DropGreetings()).pipe(model);
 */
export abstract class ChatHistoryReducer extends Runnable<ReducerInput, BaseMessage[]> {
  override lc_namespace: string[] = ["langchain_redis_memory", "reducers"];

  /** The class's name in traces, which a bundler would shorten. */
  static override lc_name(): string {
    return "ChatHistoryReducer";
  }

  /** True where a reduction costs money: a history then lets one process at a time reduce a session. */
  readonly requiresLease: boolean = false;

  /** Milliseconds after which such a lease ends if its holder crashed; longer than a reduction takes. */
  readonly leaseMs: number = 120_000;

  /**
   * What this reducer counts tokens with; a history stores the counts with each message. Undefined where it does not
   * count.
   */
  readonly tokenCounter: TokenCounter | undefined = undefined;

  /** The largest view in which there is never anything to do: after a write, a history reduces only a larger one. */
  get viewLimit(): { readonly messages?: number; readonly tokens?: number } {
    return { messages: 0 };
  }

  /** The smaller list, or null where there is nothing to do. */
  abstract reduce(messages: BaseMessage[], config?: RunnableConfig): Promise<BaseMessage[] | null>;

  /** The same, with what was removed, why, and the sizes before and after. */
  async reduceWithOutcome(messages: BaseMessage[], config?: RunnableConfig): Promise<ReductionOutcome> {
    const before = await viewSize(messages, this.tokenCounter);
    const reduced = await this.reduce([...messages], config);
    if (reduced === null) {
      return unchanged(messages, {
        reason: "within_limit",
        ...(before.tokens !== undefined && { tokens: before.tokens }),
      });
    }
    const removed = removedMessages(messages, reduced);
    const after = await viewSize(reduced, this.tokenCounter);
    return { messages: [...reduced], changed: true, reason: "reduced", removed, before, after, overBudgetBy: 0 };
  }

  /** The reduced messages, or the input's own where there is nothing to do; a fresh array in either case. */
  override async invoke(input: ReducerInput, options?: Partial<RunnableConfig>): Promise<BaseMessage[]> {
    return this._callWithConfig(this.#run, input, options);
  }

  readonly #run = async (
    input: ReducerInput,
    config?: Partial<RunnableConfig>,
    runManager?: CallbackManagerForChainRun,
  ): Promise<BaseMessage[]> => {
    const messages = messagesOf(input);
    const reduced = await this.reduce(messages, patchConfig(config, { callbacks: runManager?.getChild() }));
    return [...(reduced ?? messages)];
  };
}

/** A reducer that knows its whole outcome; what it gives as messages follows from that. */
export abstract class OutcomeReducer extends ChatHistoryReducer {
  abstract override reduceWithOutcome(messages: BaseMessage[], config?: RunnableConfig): Promise<ReductionOutcome>;

  /** The smaller list, or null where there is nothing to do. */
  override async reduce(messages: BaseMessage[], config?: RunnableConfig): Promise<BaseMessage[] | null> {
    const outcome = await this.reduceWithOutcome(messages, config);
    return outcome.changed ? outcome.messages : null;
  }
}
