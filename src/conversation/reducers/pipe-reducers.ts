import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { ConfigurationError } from "../../base/errors.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { ViewLimit } from "./view-limit.js";
import { asReducer, type ReducerLike } from "./as-reducer.js";
import { ChatHistoryReducer, type ReducerRequest } from "./chat-history-reducer.js";
import { reduced, removedMessages, unchanged, viewSize, type ReductionOutcome } from "./reduction-outcome.js";

/**
 * Creates a reducer that runs the given ones in order, each on the previous result; put the gentlest first. It has
 * nothing to do if none of them has.
 *
 * @throws ConfigurationError if there are no reducers, or one of them is not a reducer.
 * @example
 * import { ChatHistoryTokenReducer, ChatHistoryToolResultReducer, pipeReducers } from "langchain-redis-memory";
 *
 * const reducer = pipeReducers(
 *   new ChatHistoryToolResultReducer({ keepLast: 3 }),
 *   new ChatHistoryTokenReducer({ maxTokens: 8_000 }),
 * );
 */
export function pipeReducers(...reducers: readonly ReducerLike[]): ChatHistoryReducer {
  if (reducers.length === 0) {
    throw new ConfigurationError("reducers", "pipeReducers: at least one reducer is required.");
  }
  return new ReducerPipeline(reducers.map(asReducer));
}

class ReducerPipeline extends ChatHistoryReducer {
  readonly #reducers: readonly ChatHistoryReducer[];
  override readonly tokenCounter: TokenCounter | undefined;
  override readonly requiresLease: boolean;
  override readonly leaseMs: number;

  constructor(reducers: readonly ChatHistoryReducer[]) {
    super();
    this.#reducers = reducers;
    this.tokenCounter = reducers.find(({ tokenCounter }) => tokenCounter !== undefined)?.tokenCounter;
    this.requiresLease = reducers.some(({ requiresLease }) => requiresLease);
    this.leaseMs = reducers.reduce((total, { leaseMs }) => total + leaseMs, 0);
  }

  static override lc_name(): string {
    return "ReducerPipeline";
  }

  override get viewLimit(): ViewLimit {
    const limits = this.#reducers.map(({ viewLimit }) => viewLimit);
    return { ...smallest("messages", limits), ...smallest("tokens", limits), ...smallest("fromStart", limits) };
  }

  override async reduceWithOutcome(
    messages: BaseMessage[],
    config?: RunnableConfig,
    request?: ReducerRequest,
  ): Promise<ReductionOutcome> {
    const outcomes: ReductionOutcome[] = [];
    let current = messages;
    let overBudgetBy = 0;
    for (const reducer of this.#reducers) {
      const outcome = await reducer.reduceWithOutcome(current, config, request);
      outcomes.push(outcome);
      current = outcome.messages;
      // A reducer without a counter cannot say by how many tokens a budget is exceeded.
      overBudgetBy = reducer.tokenCounter === undefined ? overBudgetBy : outcome.overBudgetBy;
    }
    return joinOutcomes(messages, { outcomes, overBudgetBy, counter: this.tokenCounter });
  }
}

/** The outcome of reducers that ran one after the other, with sizes by `counter`. */
export async function joinOutcomes(
  messages: readonly BaseMessage[],
  { outcomes, overBudgetBy, counter }: ReducersRun,
): Promise<ReductionOutcome> {
  const failure = outcomes.find(({ error }) => error !== undefined);
  const before = await viewSize(messages, counter);
  if (!outcomes.some(({ changed }) => changed)) {
    const reason = (failure ?? outcomes.find(({ reason }) => reason === "nothing_removable"))?.reason as
      "nothing_removable" | undefined;
    return unchanged(messages, {
      ...before,
      reason: reason ?? "within_limit",
      overBudgetBy,
      ...(failure?.error && { error: failure.error }),
    });
  }
  const result = outcomes[outcomes.length - 1]!.messages;
  const summary = outcomes.findLast((outcome) => outcome.summary !== undefined)?.summary;
  return reduced(result, {
    overBudgetBy,
    before,
    removed: removedMessages(messages, result),
    after: await viewSize(result, counter),
    ...(summary && { summary }),
    ...(failure?.error && { error: failure.error }),
  });
}

/** The outcomes of reducers, each on the result before it. */
interface ReducersRun {
  readonly outcomes: readonly ReductionOutcome[];
  readonly overBudgetBy: number;
  readonly counter: TokenCounter | undefined;
}

function smallest(unit: keyof ViewLimit, limits: readonly ViewLimit[]): ViewLimit {
  const values = limits.flatMap(({ [unit]: value }) => (value === undefined ? [] : [value]));
  return values.length === 0 ? {} : { [unit]: Math.min(...values) };
}
