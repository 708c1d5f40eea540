import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CallbackManagerForChainRun } from "@langchain/core/callbacks/manager";
import { ConfigurationError } from "../../base/errors.js";
import type { TokenCounter } from "../tokens/counted-messages.js";
import {
  ChatHistoryReducer,
  reduced,
  removedMessages,
  unchanged,
  viewSize,
  isPrompt,
  messagesOf,
} from "./chat-history-reducer.js";
import type { ViewLimit, ReducerRequest, ReductionOutcome, ReducerInput } from "./chat-history-reducer.js";
import { asReducer, type ReducerLike, storedField } from "./as-reducer.js";
import type { MemoryEvent } from "../../base/events.js";
import { lazy } from "../../base/options.js";
import { fieldsOf, stringIn } from "../messages/message.js";
import { type RepairOptions, resolveRepairOptions } from "../structure/options.js";
import { langchainGuide } from "../structure/profiles/neutral.js";
import { repairAs } from "../structure/repair/repair.js";

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

/** The run of a trimmer. */
export interface TrimmerRun {
  readonly config: Partial<RunnableConfig> | undefined;
  readonly runManager: CallbackManagerForChainRun | undefined;
}

/** The rules of LangChain's guide: first message, last message, results behind their calls. */
const rules: RepairOptions = { profile: langchainGuide, purpose: "model-input" };
const plan = lazy(() => resolveRepairOptions("trimmer", rules));
const planOfPrompt = lazy(() => resolveRepairOptions("trimmer", { ...rules, trailingMessages: "fill" }));

/**
 * The messages that a trimmer makes of its input, repaired where they break a rule of LangChain's guide: in front of
 * it, so that it measures what is sent, and behind it. A prompt is a request, which ends with a message of the user or
 * a tool result; other messages may end with an answer, because their question may come behind them. Repairs are the
 * custom event `repaired` of the run, in the form of the memory's event.
 */
export async function forModel(
  input: ReducerInput,
  { config, runManager }: TrimmerRun,
  trim: (messages: BaseMessage[]) => BaseMessage[] | Promise<BaseMessage[]>,
): Promise<BaseMessage[]> {
  const inputMessages = messagesOf(input);
  const configurable = fieldsOf(config?.configurable);
  if (inputMessages.length === 0 || configurable[storedField] === true) {
    return [...(await trim(inputMessages))];
  }
  const before = repairAs(plan(), inputMessages);
  const { messages, repairs } = repairAs(isPrompt(input) ? planOfPrompt() : plan(), await trim(before.messages));
  const broken = new Set([...before.repairs, ...repairs].map(({ rule }) => rule));
  if (broken.size > 0) {
    const sessionId = stringIn(configurable["sessionId"]) ?? stringIn(configurable["thread_id"]) ?? "";
    const event: MemoryEvent = { type: "repaired", sessionId, rules: [...broken] };
    await runManager?.handleCustomEvent(event.type, event);
  }
  return messages;
}
