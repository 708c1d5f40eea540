import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { SummaryError } from "../../errors.js";
import { tiktokenCounter } from "../../tokens/counters/tiktoken-counter.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { callWithin } from "./call-within.js";
import { chunkEntries } from "./summary-chunks.js";
import { summaryText, type SummarySource } from "./summary-message.js";
import { summaryRequest, transcriptEntries, type SummaryRequest, type TranscriptOptions } from "./summary-prompt.js";

/** A chat model, an LLM, or any Runnable that takes messages and gives text or a message. */
export interface SummaryModel {
  invoke(messages: BaseMessage[], options?: Partial<RunnableConfig>): Promise<string | BaseMessage>;
}

/** How summaries are made. */
export interface SummarizerOptions extends TranscriptOptions {
  readonly model: SummaryModel;
  readonly instructions: string;
  /** Milliseconds for all model calls of one summary together. */
  readonly timeout: number;
  /** Tokens of one request to the model. */
  readonly maxInputTokens: number;
  readonly counter: TokenCounter | undefined;
}

/** What to summarize; `context` are earlier summaries that stay beside the new one. */
export interface SummaryTask extends SummarySource {
  readonly context: readonly BaseMessage[];
}

/** Tags and metadata that keep a summary's words out of the stream of the run in which it is made. */
const internalCall = { tags: ["nostream"], metadata: { lc_source: "summarization" } };

/**
 * Has a model write summaries: of exactly the messages that it is given and the summaries so far, never of a system
 * prompt. What is too long for one request is summarized piece by piece, each with the summary so far.
 */
export class Summarizer {
  readonly #options: SummarizerOptions;

  constructor(options: SummarizerOptions) {
    this.#options = options;
  }

  /** What a summary would be made of, as text. */
  sourceText({ replaced, covered }: SummarySource): string {
    return [...replaced.map(summaryText), ...transcriptEntries(covered, this.#options)].join("\n");
  }

  /**
   * A summary's text.
   *
   * @throws SummaryError `failed`, `timeout`, `empty` or `too_long`; the reason of the config's signal, as it is, where
   *   that aborts.
   */
  async summarize(task: SummaryTask, config: RunnableConfig = {}): Promise<string> {
    const { timeout } = this.#options;
    try {
      return await callWithin({ timeout, signal: config.signal }, (signal) =>
        this.#inChunks(task, { ...config, signal }),
      );
    } catch (cause) {
      config.signal?.throwIfAborted();
      if (SummaryError.isInstance(cause)) {
        throw cause;
      }
      throw new SummaryError("The summarizer's model failed; no message was removed.", { code: "failed", cause });
    }
  }

  async #inChunks(task: SummaryTask, config: RunnableConfig): Promise<string> {
    const { instructions, maxInputTokens, counter = tiktokenCounter() } = this.#options;
    const { entries, ...given } = await this.#material(task, counter);
    let { soFar, replacesSoFar } = given;
    if (entries.length === 0 && soFar.length === 1) {
      return soFar[0]!;
    }
    const chunks = await chunkEntries(entries, {
      maxTokens: maxInputTokens,
      fixed: [instructions, ...soFar].join("\n"),
      counter,
    });
    for (const [index, chunk] of chunks.entries()) {
      const text = await this.#call(summaryRequest({ instructions, soFar, replacesSoFar, entries: chunk }), config);
      if (index < chunks.length - 1 && (await counter.countText(text)) > maxInputTokens / 2) {
        throw new SummaryError("The model's summary of a part is too long to go on with; no message was removed.", {
          code: "too_long",
        });
      }
      [soFar, replacesSoFar] = [[text], true];
    }
    return soFar[0]!;
  }

  /**
   * Entries and summaries so far; summaries that would take more than half of a request are summarized like messages.
   */
  async #material(
    { replaced, covered, context }: SummaryTask,
    counter: TokenCounter,
  ): Promise<Omit<SummaryRequest, "instructions">> {
    const { instructions, maxInputTokens } = this.#options;
    const entries = transcriptEntries(covered, this.#options);
    const replacesSoFar = replaced.length > 0;
    const soFar = (replacesSoFar ? replaced : context).map(summaryText);
    const fixed = [instructions, ...soFar].join("\n");
    if (Buffer.byteLength(fixed) <= maxInputTokens / 2 || (await counter.countText(fixed)) <= maxInputTokens / 2) {
      return { entries, soFar, replacesSoFar };
    }
    const earlier = replacesSoFar ? soFar.map((text) => `earlier summary: ${text}`) : [];
    return { entries: [...earlier, ...entries], soFar: [], replacesSoFar };
  }

  async #call(messages: BaseMessage[], config: RunnableConfig): Promise<string> {
    const answer: unknown = await this.#options.model.invoke(messages, {
      ...config,
      // These belong to the run in which the summary is made.
      ...{ runId: undefined, runName: undefined, timeout: undefined },
      tags: [...(config.tags ?? []), ...internalCall.tags],
      metadata: { ...config.metadata, ...internalCall.metadata },
    });
    const text = typeof answer === "string" ? answer : (answer as Partial<BaseMessage> | undefined)?.text;
    if (typeof text !== "string" || text.trim() === "") {
      throw new SummaryError("The summarizer's model gave no text; no message was removed.", { code: "empty" });
    }
    return text.trim();
  }
}
