import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { SummaryError } from "../../../base/errors.js";
import { callWithin } from "../../../base/call-within.js";
import { tiktokenCounter } from "../../tokens/counters/tiktoken-counter.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { chunkEntries } from "./chunks.js";
import { summaryText, type SummarySource } from "../../messages/summary-message.js";
import { askForText } from "../../messages/written-text.js";
import { summaryRequest, transcriptEntries, type SummaryRequest, type TranscriptOptions } from "./prompt.js";

/** A chat model, an LLM, or any Runnable from messages to text or a message. */
export interface SummaryModel {
  /** The summary, as text or as a message. */
  invoke(messages: BaseMessage[], options?: Partial<RunnableConfig>): Promise<string | BaseMessage>;
}

/** The settings of a {@link Summarizer}, named as in the options of the reducer. */
interface SummarizerSettings extends TranscriptOptions {
  readonly model: SummaryModel;
  readonly summarizationInstructions: string;
  /** Timeout for all model calls of one summary together, in milliseconds. */
  readonly timeout: number;
  /** Maximum tokens of one request to the model. */
  readonly maxInputTokens: number;
  readonly tokenCounter?: TokenCounter | undefined;
}

/** The messages to summarize; `context` holds earlier summaries that stay beside the new one. */
export interface SummaryTask extends SummarySource {
  readonly context: readonly BaseMessage[];
}

/** Tags and metadata that keep a summary's text out of the stream of the run that needs it. */
const internalCall = { tags: ["nostream"], metadata: { lc_source: "summarization" } };

/**
 * Asks a model for summaries of exactly the given messages and previous summaries, never of a system prompt. Summarizes
 * what is too long for one request in parts, each together with the summary so far.
 */
export class Summarizer {
  readonly #settings: SummarizerSettings;

  constructor(settings: SummarizerSettings) {
    this.#settings = settings;
  }

  /** Returns the text that a summary would be based on. */
  sourceText({ replaced, covered }: SummarySource): string {
    return [...replaced.map(summaryText), ...transcriptEntries(covered, this.#settings)].join("\n");
  }

  /**
   * Returns the text of a summary.
   *
   * @throws SummaryError `failed`, `timeout`, `empty`, `cut_off` or `too_long`; the signal's reason if the config's
   *   signal aborts.
   */
  async summarize(task: SummaryTask, config: RunnableConfig = {}): Promise<string> {
    const { timeout } = this.#settings;
    try {
      const bounds = { milliseconds: timeout, late: () => tooSlow(timeout), signal: config.signal };
      return await callWithin(bounds, (signal) => this.#inChunks(task, { ...config, signal }));
    } catch (cause) {
      config.signal?.throwIfAborted();
      if (SummaryError.isInstance(cause)) {
        throw cause;
      }
      throw new SummaryError("The summarization model failed; no message was removed.", { code: "failed", cause });
    }
  }

  async #inChunks(task: SummaryTask, config: RunnableConfig): Promise<string> {
    const { maxInputTokens, tokenCounter: counter = tiktokenCounter() } = this.#settings;
    const { summarizationInstructions: instructions } = this.#settings;
    const { entries, ...rest } = await this.#material(task, { counter, instructions });
    let { soFar, replacesSoFar } = rest;
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
        throw new SummaryError("The summary of a part is too long to continue from; no message was removed.", {
          code: "too_long",
        });
      }
      [soFar, replacesSoFar] = [[text], true];
    }
    return soFar[0]!;
  }

  /** Returns entries and previous summaries; summaries that take more than half a request become entries too. */
  async #material(
    { replaced, covered, context }: SummaryTask,
    { counter, instructions }: { readonly counter: TokenCounter; readonly instructions: string },
  ): Promise<Omit<SummaryRequest, "instructions">> {
    const { maxInputTokens } = this.#settings;
    const entries = transcriptEntries(covered, this.#settings);
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
    const { text, cutOffBy: reason } = await askForText(this.#settings.model, messages, {
      ...config,
      // These belong to the run that needs the summary.
      runId: undefined,
      runName: undefined,
      timeout: undefined,
      tags: [...(config.tags ?? []), ...internalCall.tags],
      metadata: { ...config.metadata, ...internalCall.metadata },
    });
    if (reason !== undefined) {
      throw summaryCutOff(reason);
    }
    if (text === "") {
      throw new SummaryError("The summarization model returned no text; no message was removed.", { code: "empty" });
    }
    return text;
  }
}

/** The error for a summary whose model ended early, with the provider's word for it. */
function summaryCutOff(reason: string): SummaryError {
  const told = /^[\w.-]{1,40}$/.test(reason) ? ` (${reason})` : "";
  return new SummaryError(`The model ended before its summary did${told}; no message was removed.`, {
    code: "cut_off",
  });
}

function tooSlow(timeout: number): SummaryError {
  return new SummaryError(`Summarization timed out after ${timeout} ms; no message was removed.`, { code: "timeout" });
}
