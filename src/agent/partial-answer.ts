import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { isAIMessageChunk, type AIMessageChunk } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";

interface HandlerList {
  addHandler?(handler: BaseCallbackHandler, inherit: boolean): void;
  removeHandler?(handler: BaseCallbackHandler): void;
}

/** Collects what a model says while it streams, so that a run that is stopped can keep it. */
export class PartialAnswer extends BaseCallbackHandler {
  readonly name = "RedisMemoryPartialAnswer";
  // Tokens must be here when the run is stopped, not some time later.
  override awaitHandlers = true;
  #said: AIMessageChunk | undefined;
  #runId: string | undefined;

  /** What was said so far; undefined where nothing was, or where the model does not stream. */
  get message(): AIMessageChunk | undefined {
    return this.#said;
  }

  /** Listens to the models that are called under a config while `work` runs. */
  static async during<T>({ callbacks }: RunnableConfig, work: (partial: PartialAnswer) => Promise<T>): Promise<T> {
    const partial = new PartialAnswer();
    const manager = callbacks as HandlerList | undefined;
    manager?.addHandler?.(partial, true);
    try {
      return await work(partial);
    } finally {
      manager?.removeHandler?.(partial);
    }
  }

  override handleLLMNewToken(
    _token: string,
    _place: unknown,
    runId: string,
    _parentRunId?: string,
    _tags?: string[],
    fields?: { readonly chunk?: unknown },
  ): void {
    const message = (fields?.chunk as { readonly message?: AIMessageChunk } | undefined)?.message;
    if (message === undefined || !isAIMessageChunk(message)) {
      return;
    }
    // A model that is called again begins its answer anew.
    this.#said = this.#runId === runId && this.#said !== undefined ? this.#said.concat(message) : message;
    this.#runId = runId;
  }
}

/** The signal that stops a run: while tools run, only LangGraph's own tells of `stream.cancel()`. */
export function stopSignal({ signal, configurable }: RunnableConfig): AbortSignal | undefined {
  const signals = configurable?.["__pregel_abort_signals"] as { externalAbortSignal?: AbortSignal } | undefined;
  return signals?.externalAbortSignal ?? signal;
}
