import type { CallbackManagerForChainRun } from "@langchain/core/callbacks/manager";
import { type BaseMessage, type BaseMessageLike, type MessageContent, ToolMessage } from "@langchain/core/messages";
import type { BasePromptValueInterface } from "@langchain/core/prompt_values";
import { patchConfig, Runnable, type RunnableConfig } from "@langchain/core/runnables";
import { ConfigurationError, type SummaryError } from "../../base/errors.js";
import { loadedOnce } from "../../base/bounds.js";
import { toMessage } from "../messages/message.js";
import type { PrefixParts } from "../structure/ledger.js";
import { type TokenCounter, countMessages } from "../tokens/counted-messages.js";
import type { ViewSize } from "../../base/events.js";
import type { NoCut } from "../messages/cuts.js";

/** Loaded when first needed: a history reduces without it. */
const modelDoor = loadedOnce(() => import("./pipe-reducers.js"));

/** The input of a reducer: messages (or what LangChain converts to messages), a prompt value, or `{ messages }`. */
export type ReducerInput =
  | BaseMessageLike[]
  | BasePromptValueInterface
  | {
      /** The messages to reduce, oldest first. */
      messages: BaseMessageLike[];
    };

/**
 * The request that messages are reduced for, as far as the place of the reducer knows it.
 * @example
 * import type { BaseMessage } from "@langchain/core/messages";
 * import { contextWindow, type ReducerRequest } from "langchain-redis-memory";
 *
 * const request: ReducerRequest = { system: "Be brief.", tools: [] };
 * export const fit = (messages: BaseMessage[]) =>
 *   contextWindow({ maxInputTokens: 8_192 }).reduceWithOutcome(messages, undefined, request);
 */
export interface ReducerRequest extends PrefixParts {
  /** The model that is called, with its bound tools, fallbacks and retries. */
  readonly model?: unknown;
  /** The config of the call, for models that `initChatModel` makes by it. */
  readonly config?: object | undefined;
  /** Messages that are sent in addition to those to reduce. @default none */
  readonly besides?: readonly BaseMessage[];
  /** Given where the provider refused the request as too long: it is to become smaller, whatever its estimate. */
  readonly refused?: {
    /** Tokens of the window; left out where the provider did not name them. */
    readonly window?: number;
    /** Tokens of the request; left out where the provider did not name them. */
    readonly tokens?: number;
  };
  /** True where `system`, `tools` and `besides` are all that is sent in addition to those to reduce. @default false */
  readonly isWhole?: boolean;
}

/** A provider's refusal of a request as too long, as far as it names numbers. */
export type RefusedRequest = NonNullable<ReducerRequest["refused"]>;

/**
 * Reduces a list of messages, or leaves it as it is. As a Runnable, it works between a prompt and a model; in a
 * history, which stores its result, it reduces the view.
 *
 * Your own reducer implements `reduce`, or `reduceWithOutcome` to report more than the messages; the other one is
 * derived from it. It must keep steps whole (an AI message and the results of its tool calls), must not mutate the
 * messages, and should return the same objects for messages that stay.
 *
 * @example
 * import type { BaseMessage } from "@langchain/core/messages";
 * import { ChatHistoryReducer, RedisChatMemory } from "langchain-redis-memory";
 *
 * class DropGreetings extends ChatHistoryReducer {
 *   override async reduce(messages: readonly BaseMessage[]) {
 *     const first = messages.findIndex((message) => message.getType() === "human");
 *     return first > 0 ? messages.slice(first) : null;
 *   }
 * }
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", reducer: new DropGreetings() });
 */
export abstract class ChatHistoryReducer extends Runnable<ReducerInput, BaseMessage[]> {
  override lc_namespace: string[] = ["langchain_redis_memory", "reducers"];

  /** The class's name in traces; a bundler may shorten `name`. */
  static override lc_name(): string {
    return "ChatHistoryReducer";
  }

  /** True if a reduction is expensive: a history then lets only one process at a time reduce a session. */
  readonly requiresLease: boolean = false;

  /** Milliseconds after which the lease of a crashed holder ends; must be longer than a reduction takes. */
  readonly leaseMs: number = 120_000;

  /**
   * The counter that this reducer uses; a history stores its counts with each message. Undefined if it does not count
   * tokens.
   */
  readonly tokenCounter: TokenCounter | undefined = undefined;

  /** The size up to which there is nothing to do: after a write, a history reduces only a larger view. */
  get viewLimit(): ViewLimit {
    return { messages: 0 };
  }

  /**
   * Returns the reduced list, or null if there is nothing to do. `request` is given where a chain or an agent calls a
   * model with the messages. @default the messages of `reduceWithOutcome`
   *
   * @throws ConfigurationError if the class implements neither of the two.
   */
  async reduce(
    messages: BaseMessage[],
    config?: RunnableConfig,
    request?: ReducerRequest,
  ): Promise<BaseMessage[] | null> {
    this.#requireOverride("reduceWithOutcome");
    const outcome = await this.reduceWithOutcome(messages, config, request);
    return outcome.changed ? outcome.messages : null;
  }

  /**
   * Reduces, and also returns what was removed and why, with the sizes before and after. @default derived from the
   * messages of `reduce`
   *
   * @throws ConfigurationError if the class implements neither of the two.
   */
  async reduceWithOutcome(
    messages: BaseMessage[],
    config?: RunnableConfig,
    request?: ReducerRequest,
  ): Promise<ReductionOutcome> {
    this.#requireOverride("reduce");
    const before = await viewSize(messages, this.tokenCounter);
    const result = await this.reduce([...messages], config, request);
    if (result === null) {
      return unchanged(messages, { reason: "within_limit", ...before });
    }
    const after = await viewSize(result, this.tokenCounter);
    return reduced(result, { removed: removedMessages(messages, result), before, after });
  }

  /** Each of the two methods is derived from the other, so a class without either would call itself forever. */
  #requireOverride(method: "reduce" | "reduceWithOutcome"): void {
    if (this[method] === ChatHistoryReducer.prototype[method]) {
      throw new ConfigurationError(
        "reducer",
        `${this.getName()} implements neither "reduce" nor "reduceWithOutcome"; implement one of them.`,
      );
    }
  }

  /**
   * Returns the reduced messages, or the input's own if there is nothing to do, always in a fresh array, for a model:
   * what breaks a rule of LangChain's guide is repaired, and reported as the custom event `repaired` of the run. They
   * begin with system messages and a user message, and those of a prompt end with one or a tool result; a list may end
   * with an answer, because its question may come behind it. `reduce` repairs nothing.
   */
  override async invoke(input: ReducerInput, options?: Partial<RunnableConfig>): Promise<BaseMessage[]> {
    return this._callWithConfig(this.#run, input, options);
  }

  readonly #run = async (
    input: ReducerInput,
    config?: Partial<RunnableConfig>,
    runManager?: CallbackManagerForChainRun,
  ): Promise<BaseMessage[]> => {
    const { forModel } = await modelDoor();
    const child = patchConfig(config, { callbacks: runManager?.getChild() });
    return forModel(input, { config, runManager }, async (messages) => {
      return (await this.reduce(messages, child)) ?? messages;
    });
  };
}

/**
 * Returns the messages of a reducer's input in a fresh array; message objects stay the same.
 *
 * @throws ConfigurationError if there are no messages, or one is not a message.
 */
export function messagesOf(input: ReducerInput): BaseMessage[] {
  if (Array.isArray(input)) {
    return input.map((like, index) => toMessage(like, { option: "input", list: "Reducer input", index }));
  }
  if (isPrompt(input)) {
    return [...input.toChatMessages()];
  }
  const messages = (input as { messages?: unknown } | null | undefined)?.messages;
  if (Array.isArray(messages)) {
    return messagesOf(messages as BaseMessageLike[]);
  }
  throw new ConfigurationError(
    "input",
    'Reducer input must be an array of messages, a prompt value, or an object with "messages".',
  );
}

/** True for what a prompt template makes. */
export function isPrompt(input: ReducerInput): input is BasePromptValueInterface {
  return typeof (input as Partial<BasePromptValueInterface> | undefined)?.toChatMessages === "function";
}

/**
 * How a reduction ended.
 *
 * - `reduced`: the messages are fewer or smaller than before.
 * - `within_limit`: there was nothing to do.
 * - `nothing_removable`: the limit is exceeded, but no message can go without splitting a step or losing one that must
 *   stay.
 * - `summary_failed`: no summary could be written and `failOnError` is off; `error` says why.
 */
export type ReductionReason = "reduced" | "within_limit" | "nothing_removable" | "summary_failed";

/**
 * The result of a reduction.
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { ChatHistoryTruncationReducer } from "langchain-redis-memory";
 *
 * const messages = Array.from({ length: 20 }, (_, turn) => new HumanMessage(`Question ${turn}`));
 * const outcome = await new ChatHistoryTruncationReducer({ targetCount: 10 }).reduceWithOutcome(messages);
 * console.log(outcome.reason, outcome.removed.length, outcome.after.messages); // reduced 10 10
 */
export interface ReductionOutcome {
  /** The reduced messages in a fresh array; the input's own objects, except for messages that had to change. */
  readonly messages: BaseMessage[];
  /** True if `messages` differ from the input. */
  readonly changed: boolean;
  /** How the reduction ended. */
  readonly reason: ReductionReason;
  /** The input's messages that are not in the result, in order; without messages that only became shorter. */
  readonly removed: BaseMessage[];
  /** The summary that this reduction wrote. */
  readonly summary?: BaseMessage;
  /** With `summary_failed`: why there is no summary. */
  readonly error?: SummaryError;
  /** The input's size. */
  readonly before: ViewSize;
  /** The result's size. */
  readonly after: ViewSize;
  /** Tokens by which the result still exceeds the maximum; 0 if it fits or there is no maximum. */
  readonly overBudgetBy: number;
}

/** Creates the outcome of a reduction that changed nothing. */
export function unchanged(
  messages: readonly BaseMessage[],
  details: {
    readonly reason: Exclude<ReductionReason, "reduced">;
    readonly tokens?: number;
    readonly overBudgetBy?: number;
    readonly error?: SummaryError;
  },
): ReductionOutcome {
  const { reason, tokens, overBudgetBy = 0, error } = details;
  const size: ViewSize = { messages: messages.length, ...(tokens !== undefined && { tokens }) };
  return {
    messages: [...messages],
    changed: false,
    reason,
    removed: [],
    before: size,
    after: size,
    overBudgetBy,
    ...(error && { error }),
  };
}

/** Creates the outcome of a reduction that made the messages fewer or smaller; within its budget by default. */
export function reduced(
  messages: readonly BaseMessage[],
  details: Pick<ReductionOutcome, "removed" | "before" | "after"> &
    Partial<Pick<ReductionOutcome, "overBudgetBy" | "summary" | "error">>,
): ReductionOutcome {
  return { messages: [...messages], changed: true, reason: "reduced", overBudgetBy: 0, ...details };
}

/** The outcome of a cut that keeps the messages at these indexes. */
export function cutOutcome(messages: readonly BaseMessage[], indexes: readonly number[] | NoCut): ReductionOutcome {
  if (typeof indexes === "string") {
    return unchanged(messages, { reason: indexes });
  }
  const stays = new Set(indexes);
  return reduced(
    indexes.map((index) => messages[index]!),
    {
      removed: messages.filter((_, index) => !stays.has(index)),
      before: { messages: messages.length },
      after: { messages: indexes.length },
    },
  );
}

/** Returns the messages of `before` that are not in `after`: not unchanged, not shortened, and not by id. */
export function removedMessages(before: readonly BaseMessage[], after: readonly BaseMessage[]): BaseMessage[] {
  const identities = new Set<unknown>(after.flatMap((message) => [originalOf(message), message.id]));
  return before.filter(
    (message) => !identities.has(originalOf(message)) && (message.id === undefined || !identities.has(message.id)),
  );
}

/** Measures a list of messages; counts tokens if there is a counter. */
export async function viewSize(messages: readonly BaseMessage[], counter: TokenCounter | undefined): Promise<ViewSize> {
  const size = { messages: messages.length };
  return counter === undefined ? size : { ...size, tokens: await countMessages(counter, messages) };
}

/** From a shortened message to the original. */
const originals = new WeakMap<BaseMessage, BaseMessage>();

/** Copies a tool message with shorter content; all else stays, including the id. It does not count as removed. */
export function withShorterContent(message: ToolMessage, content: MessageContent): ToolMessage {
  const { tool_call_id, name, id, status, artifact, metadata, additional_kwargs, response_metadata } = message;
  const fields = { tool_call_id, name, id, status, artifact, metadata, additional_kwargs, response_metadata };
  return asShortened(new ToolMessage({ ...fields, content }), message);
}

/** The shorter copy of a message; it does not count as removed. */
function asShortened<M extends BaseMessage>(copy: M, message: BaseMessage): M {
  if (copy !== message) {
    originals.set(copy, originalOf(message));
  }
  return copy;
}

/** The message that a shorter copy was made of; any other message itself. */
export function originalOf(message: BaseMessage): BaseMessage {
  return originals.get(message) ?? message;
}

/** A size of the view. Messages are `headCount` and the records from the start on; tokens count the same. */
export interface ViewLimit {
  /** Messages of the view. */
  readonly messages?: number;
  /** Tokens of the view. */
  readonly tokens?: number;
  /** Records from the start on, without the head: what came since the last reduction, and what that one kept. */
  readonly fromStart?: number;
}
