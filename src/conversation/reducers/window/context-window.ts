import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { MemoryEvent } from "../../../base/events.js";
import { BoundedMap, loadedOnce } from "../../../base/bounds.js";
import { ChatHistoryReducer, unchanged } from "../chat-history-reducer.js";
import type { ViewLimit, ReducerRequest, RefusedRequest, ReductionOutcome } from "../chat-history-reducer.js";
import { readEarlierName } from "../../messages/content.js";
import { fieldsOf } from "../../messages/message.js";
import { profileOf, type ModelProfile, type ModelWindow } from "../../structure/seam/profile-of.js";
import { approximateCounter } from "../../tokens/counters/approximate-counter.js";
import { countMessages, type TokenCounter } from "../../tokens/counted-messages.js";
import { fires, leastMessages, tokensOf, windowSettings } from "./options.js";
import type { ContextWindowOptions, WindowSettings } from "./options.js";
import { askedName, promptTokens, requestSize, roomIn, type AskedName, type RequestSize } from "./request-size.js";

const tiers = loadedOnce(() => import("./tiers.js"));

/** The size of a request, and what it may take. */
export interface MeasuredRequest {
  readonly size: RequestSize;
  /** The model's name; undefined where it is not known. */
  readonly model: string | undefined;
  /** Name under which the answer keeps the estimate, for the next request; undefined where the model is not known. */
  readonly askedAs: string | undefined;
  /** True where the model has the tool that reads stored messages again. */
  readonly readsEarlier: boolean;
  /** Tokens of the window. */
  readonly window: number;
  /** Tokens that a request may take: the window without the answer and the margin. */
  readonly room: number;
}

/** A request, or the session's next one. */
interface RequestToMeasure extends ReducerRequest {
  /** True for a request that is not made yet: where it tells no parts, it has those of the newest answer's. */
  readonly isNext?: boolean;
}

/** Tokens that a request takes and may take: the event `context_usage` without its session. */
export type ContextUsage = Omit<Extract<MemoryEvent, { readonly type: "context_usage" }>, "type" | "sessionId">;

/** The size of a request as events and gauges tell it. */
export function usageOf({ size, model, window, room }: MeasuredRequest): ContextUsage {
  return { model, tokens: size.tokens, window, room, source: size.isAnchored ? "provider" : "estimate" };
}

const maxLearnt = 100;
/** The provider may count with another tokenizer, until its first answer says how many tokens it counted. */
const marginOfEstimate = 0.1;
/** The same behind that answer. */
export const marginBehindAnswer = 0.05;

/**
 * Creates a reducer that keeps each request within the model's window: system prompt, tools, this turn's input and room
 * for the answer are counted. A request that fits is left as it is, byte for byte. A larger one is reduced, in this
 * order, until `target` is met: old tool results are shortened, then all of finished turns, a summary is written (with
 * `summary`), and the oldest steps are removed.
 *
 * The window is `maxInputTokens`, else what the request's model says (`model.profile`). Where neither is known, nothing
 * is reduced.
 *
 * @throws ConfigurationError naming the option.
 * @example
 * import { contextWindow, RedisChatMemory, type ContextWindowOptions } from "langchain-redis-memory";
 *
 * const options: ContextWindowOptions = { maxInputTokens: 32_000, target: 0.6 };
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", reducer: contextWindow(options) });
 */
export function contextWindow(options: ContextWindowOptions = {}): ChatHistoryReducer {
  return new ContextWindow(windowSettings(options));
}

/** {@link contextWindow} for the places that know the request. */
export class ContextWindow extends ChatHistoryReducer {
  override readonly tokenCounter: TokenCounter;
  override readonly requiresLease: boolean;
  readonly #settings: WindowSettings;
  /** Windows by the names of models that refused a request. */
  readonly #learnt = new BoundedMap<string, number>(maxLearnt);

  constructor(settings: WindowSettings) {
    super();
    const { summary, tokenCounter } = settings;
    this.#settings = settings;
    this.tokenCounter = tokenCounter ?? approximateCounter();
    this.requiresLease = summary !== undefined;
  }

  static override lc_name(): string {
    return "ContextWindow";
  }

  /** True where the options name the window, so that it need not be asked of the model. */
  get isTold(): boolean {
    return this.#settings.maxInputTokens !== undefined;
  }

  /** Only a window that the options name is known without a request. */
  override get viewLimit(): ViewLimit {
    const { maxInputTokens: window, trigger } = this.#settings;
    if (window === undefined) {
      return {};
    }
    const room = this.#roomOf(window, {});
    const sizes = trigger.flatMap((parts) => tokensOf(parts, room) ?? []);
    // A trigger without a size fires by its messages or rounds.
    const counts = trigger.flatMap((parts) => (tokensOf(parts, room) === undefined ? leastMessages(parts) - 1 : []));
    const tokens = Math.min(room, ...sizes) - promptTokens(this.#settings) - this.tokenCounter.perRequest;
    return { tokens: Math.max(0, Math.floor(tokens)), ...(counts.length > 0 && { messages: Math.min(...counts) }) };
  }

  /** The size of a request, and its room; undefined where the window is not known. */
  async measure(messages: readonly BaseMessage[], parts: RequestToMeasure = {}): Promise<MeasuredRequest | undefined> {
    const profile = parts.model === undefined ? undefined : await profileOf(parts.model, parts.config);
    const window = this.#windowOf(profile?.window);
    return window === undefined ? undefined : this.#measureIn(window, messages, { parts, profile });
  }

  /** The window that the options or the model tell, or less, where the provider refused what would have fit. */
  #windowOf(limits: ModelWindow | undefined): number | undefined {
    const told = this.#settings.maxInputTokens ?? limits?.maxInputTokens;
    const learnt = this.#learnt.get(limits?.model ?? "");
    return learnt === undefined ? told : Math.min(learnt, told ?? learnt);
  }

  async #measureIn(
    window: number,
    messages: readonly BaseMessage[],
    { parts, profile }: { readonly parts: RequestToMeasure; readonly profile: ModelProfile | undefined },
  ): Promise<MeasuredRequest> {
    const { systemPrompt: system, tools } = this.#settings;
    const definitions = parts.tools ?? (tools.length > 0 ? tools : profile?.tools);
    const request = { ...parts, system: parts.system ?? system, ...(definitions && { tools: definitions }) };
    const model = profile?.window.model;
    const names = model === undefined ? [] : this.#askedOf(model, parts);
    const size = await requestSize(messages, request, { counter: this.tokenCounter, names });
    const room = this.#roomOf(window, { limits: profile?.window, isAnchored: size.isAnchored });
    const readsEarlier = (definitions ?? []).some((tool) => nameOfTool(tool) === readEarlierName);
    return { size, window, room, model, readsEarlier, askedAs: names[0]?.askedAs };
  }

  /** Names under which a model's answers tell the size of their requests; that of this request's answer first. */
  #askedOf(model: string, { isWhole, isNext = false, system, tools }: RequestToMeasure): [AskedName, ...AskedName[]] {
    const named = (all: boolean, isRepeated: boolean): AskedName => {
      const askedAs = askedName(model, { counter: this.tokenCounter, isWhole: all });
      return { isWhole: all, isRepeated, askedAs };
    };
    return isNext
      ? [named(true, system === undefined && tools === undefined), named(false, true)]
      : [named(isWhole ?? this.#settings.systemPrompt !== undefined, false)];
  }

  /** A refused request as the provider counted it; its window is kept in mind for the model. */
  async #refused(
    messages: readonly BaseMessage[],
    parts: ReducerRequest,
    refused: RefusedRequest,
  ): Promise<MeasuredRequest> {
    const profile = parts.model === undefined ? undefined : await profileOf(parts.model, parts.config);
    const limits = profile?.window;
    const widest = this.#windowOf(limits) ?? Infinity;
    const measured = await this.#measureIn(Math.min(widest, refused.window ?? widest), messages, { parts, profile });
    const { size } = measured;
    // At least its window, as it was refused.
    const tokens = refused.tokens ?? Math.max(size.tokens, refused.window ?? 1);
    const window = Math.min(widest, refused.window ?? tokens);
    this.#learnt.set(limits?.model ?? "", window);
    const room = refused.window === undefined ? Math.ceil(tokens / 2) : this.#roomOf(window, { limits });
    const ratio = tokens / Math.max(1, size.tokens);
    const messagesWithin = (most: number) => size.messagesWithin(most / ratio);
    return { ...measured, window, room, size: { ...size, tokens, messagesWithin } };
  }

  /** True if a request of this size and number of messages is to be reduced. */
  isDue({ size, room }: MeasuredRequest, messages: readonly BaseMessage[]): boolean {
    return size.tokens > room || fires(this.#settings.trigger, { tokens: size.tokens, messages, full: room });
  }

  override async reduceWithOutcome(
    messages: BaseMessage[],
    config?: RunnableConfig,
    request?: ReducerRequest,
  ): Promise<ReductionOutcome> {
    const refused = request?.refused;
    const measured = await (refused ? this.#refused(messages, request!, refused) : this.measure(messages, request));
    if (measured === undefined || (!refused && !this.isDue(measured, messages))) {
      return unchanged(messages, { reason: "within_limit", tokens: await countMessages(this.tokenCounter, messages) });
    }
    const { reduceInTiers } = await tiers();
    return reduceInTiers(messages, {
      ...measured,
      settings: this.#settings,
      counter: this.tokenCounter,
      config,
      request,
    });
  }

  #roomOf(
    window: number,
    { limits, isAnchored = false }: { readonly limits?: ModelWindow | undefined; readonly isAnchored?: boolean },
  ): number {
    const { reserveForAnswer, safetyMargin = isAnchored ? marginBehindAnswer : marginOfEstimate } = this.#settings;
    return roomIn(window, { limits, reserveForAnswer, safetyMargin });
  }
}

function nameOfTool(tool: unknown): unknown {
  const { name, function: definition } = fieldsOf(tool);
  return name ?? fieldsOf(definition)["name"];
}
