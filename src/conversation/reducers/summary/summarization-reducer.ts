import { randomUUID } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { sectionsOf, type Sections } from "../../messages/steps.js";
import { SummaryError } from "../../../base/errors.js";
import type { ViewSize } from "../../../base/events.js";
import { ChatHistoryReducer, reduced, removedMessages, unchanged, viewSize } from "../chat-history-reducer.js";
import type { ViewLimit, ReductionOutcome } from "../chat-history-reducer.js";
import type { TokenCounter } from "../../tokens/counted-messages.js";
import { Summarizer, type SummaryTask } from "./summarizer.js";
import { summaryMessage } from "../../messages/summary-message.js";
import { summarizationSettings } from "./summarization-options.js";
import type { ChatHistorySummarizationReducerOptions, SummarizationSettings } from "./summarization-options.js";
import { BoundedMap } from "../../../base/bounds.js";

/** How many milliseconds longer than its timeout a reduction may take. */
const leaseMarginMs = 15_000;

/**
 * Replaces the oldest messages with a summary that a model writes.
 *
 * The model sees exactly the messages that leave, and the previous summaries; system messages stay and are not sent.
 * Steps stay whole, and if the cut is inside a round, the round's human message stays. A summary that is empty, late or
 * not shorter than what it replaces is a failure: then no message is removed, and after three consecutive failures the
 * next tries are delayed. If nothing can be removed, no model is called.
 *
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { ChatHistorySummarizationReducer, RedisChatMemory } from "langchain-redis-memory";
 *
 * const model = new ChatOpenAI({ model: "gpt-4o-mini" });
 * const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 20 });
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", reducer, reduceWhen: "background" });
 */
export class ChatHistorySummarizationReducer extends ChatHistoryReducer {
  readonly #settings: SummarizationSettings;
  readonly #summarizer: Summarizer;
  readonly #pause = new FailurePause();
  override readonly tokenCounter: TokenCounter | undefined;
  override readonly requiresLease = true;
  override readonly leaseMs: number;

  /** @throws ConfigurationError naming the option. */
  constructor(options: ChatHistorySummarizationReducerOptions) {
    super();
    this.#settings = summarizationSettings(options);
    this.#summarizer = new Summarizer(this.#settings);
    this.tokenCounter = this.#settings.measure.tokenCounter;
    this.leaseMs = this.#settings.timeout + leaseMarginMs;
  }

  static override lc_name(): string {
    return "ChatHistorySummarizationReducer";
  }

  override get viewLimit(): ViewLimit {
    return this.#settings.measure.viewLimit;
  }

  /**
   * @throws SummaryError if no summary could be written and `failOnError` is on; the signal's reason if the config's
   *   signal aborts.
   */
  override async reduceWithOutcome(messages: BaseMessage[], config?: RunnableConfig): Promise<ReductionOutcome> {
    const { measure, systemMessages, useSingleSummary, maxSummaries } = this.#settings;
    const sections = sectionsOf(messages, { systemMessages });
    const earlier = sections.summaries.map((index) => messages[index]!);
    const isReplaced = useSingleSummary || earlier.length >= maxSummaries;
    const [replaced, context] = isReplaced ? [earlier, []] : [[], earlier];
    const staying: Sections = isReplaced ? { ...sections, summaries: [] } : sections;
    const indexes = await measure.cut(messages, staying, replaced);
    const covered = typeof indexes === "string" ? [] : coveredBy(messages, sections, indexes);
    if (indexes === "within_limit") {
      return unchanged(messages, { reason: indexes, ...(await this.#size(messages)) });
    }
    if (typeof indexes === "string") {
      return this.#finish(messages, await measure.fit(messages));
    }
    const rest = indexes.slice(staying.systems.length + staying.summaries.length).map((index) => messages[index]!);
    const systems = staying.systems.map((index) => messages[index]!);
    if (covered.length === 0 || this.#summarizer.sourceText({ replaced, covered }) === "") {
      const left = [...systems, ...earlier, ...rest];
      // If no message leaves, only the place of a system message would change.
      const isShorter = covered.length === 0 && left.length < messages.length;
      return this.#finish(messages, await measure.fit(isShorter ? left : messages));
    }
    return this.#replace({ messages, systems, replaced, context, covered, rest }, config);
  }

  async #replace(parts: Parts, config: RunnableConfig | undefined): Promise<ReductionOutcome> {
    const key = keyOf(parts.covered[0]!);
    try {
      const waiting = this.#pause.remaining(key);
      if (waiting > 0) {
        throw new SummaryError(
          `Summarization failed repeatedly; the next attempt is possible in ${Math.ceil(waiting)} ms.`,
          { code: "backing_off" },
        );
      }
      const { measure, summaryRole: role } = this.#settings;
      const text = await this.#summarizer.summarize(parts, config);
      const summary = summaryMessage(text, { id: randomUUID(), role, source: parts });
      const result = await measure.fit([...parts.systems, ...parts.context, summary, ...parts.rest]);
      const source = this.#summarizer.sourceText(parts);
      if (await measure.isTooLong({ before: parts.messages, after: result, summary, source })) {
        throw new SummaryError("The summary is not shorter than the messages it replaces; no message was removed.", {
          code: "too_long",
        });
      }
      this.#pause.succeeded(key);
      return await this.#finish(parts.messages, result, summary);
    } catch (error) {
      return this.#failed(parts.messages, { error, key });
    }
  }

  async #failed(
    messages: readonly BaseMessage[],
    { error, key }: { readonly error: unknown; readonly key: string },
  ): Promise<ReductionOutcome> {
    // `failOnError` applies to failed summaries only, not to the caller's own abort.
    if (!SummaryError.isInstance(error)) {
      throw error;
    }
    if (error.code !== "backing_off") {
      this.#pause.failed(key);
    }
    if (this.#settings.failOnError) {
      throw error;
    }
    const overBudgetBy = await this.#settings.measure.overBudgetBy(messages);
    return unchanged(messages, { reason: "summary_failed", error, overBudgetBy, ...(await this.#size(messages)) });
  }

  async #finish(
    messages: readonly BaseMessage[],
    result: readonly BaseMessage[],
    summary?: BaseMessage,
  ): Promise<ReductionOutcome> {
    const overBudgetBy = await this.#settings.measure.overBudgetBy(result);
    if (result.length === messages.length && result.every((message, index) => message === messages[index])) {
      return unchanged(messages, { reason: "nothing_removable", overBudgetBy, ...(await this.#size(messages)) });
    }
    return reduced(result, {
      overBudgetBy,
      ...(summary && { summary }),
      removed: removedMessages(messages, result),
      before: await this.#size(messages),
      after: await this.#size(result),
    });
  }

  #size(messages: readonly BaseMessage[]): Promise<ViewSize> {
    return viewSize(messages, this.tokenCounter);
  }
}

interface Parts extends SummaryTask {
  readonly messages: readonly BaseMessage[];
  readonly systems: readonly BaseMessage[];
  readonly rest: readonly BaseMessage[];
}

/** Returns the messages that leave, without system messages, which are not summarized. */
function coveredBy(messages: readonly BaseMessage[], { free }: Sections, indexes: readonly number[]): BaseMessage[] {
  const stays = new Set(indexes);
  return free.filter((index) => !stays.has(index)).map((index) => messages[index]!);
}

const objectKeys = new WeakMap<BaseMessage, string>();
let objectsSeen = 0;

/** Identifies the point where a conversation is stuck: the first message that its next summary would cover. */
function keyOf(message: BaseMessage): string {
  if (message.id !== undefined) {
    return message.id;
  }
  const key = objectKeys.get(message) ?? `object ${(objectsSeen += 1)}`;
  objectKeys.set(message, key);
  return key;
}

/** Consecutive failures from which on the next try has to wait. */
const freeFailures = 3;
const firstPauseMs = 1_000;
const longestPauseMs = 300_000;
/** How many conversations to remember failures of. */
const remembered = 1_000;

interface Failures {
  readonly count: number;
  readonly until: number;
}

/**
 * Delays tries that keep failing: by one second after the third consecutive failure, then twice as long each time, up
 * to five minutes.
 */
class FailurePause {
  readonly #failures = new BoundedMap<string, Failures>(remembered);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns the milliseconds to wait before the next try for this key; 0 if there is no need to wait. */
  remaining(key: string): number {
    return Math.max(0, (this.#failures.get(key)?.until ?? 0) - this.#now());
  }

  failed(key: string): void {
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const pause = count < freeFailures ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (count - freeFailures));
    this.#failures.set(key, { count, until: this.#now() + pause });
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }
}
