import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { SummarizationSettings } from "./summarization-options.js";
import { Summarizer, type SummaryTask } from "./summarizer.js";
import { summaryMessage, summaryText } from "../../messages/summary-message.js";
import { randomUUID } from "node:crypto";
import { BoundedMap } from "../../../base/bounded-map.js";
import { shortHash } from "../../../base/ids.js";

/** Summaries that are remembered. */
const capacity = 100;

/** The summaries that precede the rest of the conversation after a reduction. */
export interface WrittenSummaries {
  readonly summaries: readonly BaseMessage[];
  /** The summaries that this reduction wrote. */
  readonly made: readonly BaseMessage[];
  /** The summary of the messages that leave. */
  readonly newest: BaseMessage;
  readonly source: string;
  /** Forgets the new summaries, so that they are written again next time. */
  forget(): void;
}

interface Leaving {
  readonly earlier: readonly BaseMessage[];
  readonly covered: readonly BaseMessage[];
}

/**
 * Writes the summaries of a reduction: one that replaces all earlier ones, or an additional one, merging the oldest if
 * there are too many.
 */
export class SegmentWriter {
  readonly #settings: SummarizationSettings;
  readonly #summarizer: Summarizer;
  /**
   * The latest summaries by what they are based on, so that a reduction that is repeated, because another process
   * changed the view first, does not pay for its summary again.
   */
  readonly #cache = new BoundedMap<string, BaseMessage>(capacity);

  constructor(settings: SummarizationSettings) {
    this.#settings = settings;
    this.#summarizer = new Summarizer(settings);
  }

  /** False if no message leaves, or the messages that leave contain nothing to summarize. */
  canTell({ earlier, covered }: Leaving): boolean {
    const replaced = this.#settings.useSingleSummary ? earlier : [];
    return covered.length > 0 && this.#summarizer.sourceText({ replaced, covered }) !== "";
  }

  /** @throws SummaryError if a summary could not be written; the signal's reason if the config's signal aborts. */
  async write({ earlier, covered }: Leaving, config: RunnableConfig | undefined): Promise<WrittenSummaries> {
    if (this.#settings.useSingleSummary) {
      return this.#written([{ replaced: earlier, covered, context: [] }], { staying: [], config });
    }
    const folded = earlier.slice(0, this.#foldedCount(earlier.length));
    const staying = earlier.slice(folded.length);
    const newest: SummaryTask = { replaced: [], covered, context: earlier };
    const fold: SummaryTask = { replaced: folded, covered: [], context: [] };
    return this.#written(folded.length > 0 ? [fold, newest] : [newest], { staying, config });
  }

  /**
   * Returns how many of the oldest summaries to merge to stay within the cap with the new one; at least half of them,
   * so that merging is rare.
   */
  #foldedCount(earlier: number): number {
    const { maxSummaries } = this.#settings;
    return earlier + 1 <= maxSummaries
      ? 0
      : Math.min(earlier, Math.max(earlier + 2 - maxSummaries, Math.ceil(earlier / 2)));
  }

  /** The last task writes the newest summary, one before it merges the oldest; `staying` go between the two. */
  async #written(
    tasks: readonly SummaryTask[],
    { staying, config }: { readonly staying: readonly BaseMessage[]; readonly config: RunnableConfig | undefined },
  ): Promise<WrittenSummaries> {
    const made: BaseMessage[] = [];
    for (const task of tasks) {
      made.push(await this.#summaryOf(task, config));
    }
    return {
      summaries: [...made.slice(0, -1), ...staying, ...made.slice(-1)],
      made,
      newest: made[made.length - 1]!,
      source: tasks.map((task) => this.#summarizer.sourceText(task)).join("\n"),
      forget: () => tasks.forEach((task) => this.#cache.delete(this.#keyOf(task))),
    };
  }

  async #summaryOf(task: SummaryTask, config: RunnableConfig | undefined): Promise<BaseMessage> {
    const key = this.#keyOf(task);
    const cached = this.#cache.get(key);
    if (cached !== undefined) {
      return cached;
    }
    const text = await this.#summarizer.summarize(task, config);
    const summary = summaryMessage(text, { id: randomUUID(), role: this.#settings.summaryRole, source: task });
    this.#cache.set(key, summary);
    return summary;
  }

  /** Hash of the ids of the messages that a summary replaces, and of everything that the model sees of them. */
  #keyOf(task: SummaryTask): string {
    const ids = [...task.replaced, ...task.covered].map(({ id }) => id);
    const told = [this.#summarizer.sourceText(task), ...task.context.map(summaryText)];
    return shortHash(JSON.stringify([ids, told]), 43);
  }
}
