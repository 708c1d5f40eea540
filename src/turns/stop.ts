import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AIMessage, AIMessageChunk, isAIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { linkCalls } from "../messages/calls.js";
import { textOf } from "../messages/content.js";
import { roleOf } from "../messages/roles.js";

// Stop: how a run learns of it, what its models had said by then, and the form in which that is stored. For chains and
// agents alike.

/** The signal that stops a run: while an agent's tools run, only LangGraph's own tells of `stream.cancel()`. */
export function stopSignal({ signal, configurable }: Partial<RunnableConfig>): AbortSignal | undefined {
  const signals = configurable?.["__pregel_abort_signals"] as { externalAbortSignal?: AbortSignal } | undefined;
  return signals?.externalAbortSignal ?? signal;
}

const own = new WeakSet<object>();

/** True for a function by which this package listens to a signal. */
export function isStopListener(listener: object): boolean {
  return own.has(listener);
}

/** Calls back once when a run is stopped. The hooks of an agent's run may bring another signal each time. */
export class StopListener {
  readonly #onStop: () => void;
  #signal: AbortSignal | undefined;

  constructor(onStop: () => void) {
    this.#onStop = onStop;
    own.add(onStop);
  }

  /** Listens to this signal in place of the one before; to none for undefined. */
  listen(signal: AbortSignal | undefined): void {
    if (signal !== this.#signal) {
      this.#signal?.removeEventListener("abort", this.#onStop);
      this.#signal = signal;
      signal?.addEventListener("abort", this.#onStop, { once: true });
    }
  }
}

/** Calls back once when the signal aborts, or at once where it has; returns how to stop waiting for it. */
export function whenStopped(signal: AbortSignal | undefined, onStop: () => void): () => void {
  const listener = new StopListener(onStop);
  listener.listen(signal);
  if (signal?.aborted) {
    onStop();
  }
  return () => listener.listen(undefined);
}

interface HandlerList {
  addHandler?(handler: BaseCallbackHandler, inherit: boolean): void;
  removeHandler?(handler: BaseCallbackHandler): void;
}

/** Collects what models say while they run, also where they stream inside of an `invoke`. */
export class SaidSoFar extends BaseCallbackHandler {
  override readonly name = "RedisMemorySaidSoFar";
  // Tokens must be here when the run is stopped, not some time later.
  override awaitHandlers = true;
  readonly #unfinished = new Map<string, AIMessageChunk>();
  #last: AIMessageChunk | undefined;

  /** What the model says that spoke last; undefined where none has said anything. */
  get last(): AIMessageChunk | undefined {
    return this.#last;
  }

  /** What the model says that has not ended; the one that began last where there are several. */
  get unfinished(): AIMessageChunk | undefined {
    return [...this.#unfinished.values()].at(-1);
  }

  /** Listens to the models that are called under a config while `work` runs. */
  static async during<T>({ callbacks }: RunnableConfig, work: (said: SaidSoFar) => Promise<T>): Promise<T> {
    const said = new SaidSoFar();
    const manager = callbacks as HandlerList | undefined;
    manager?.addHandler?.(said, true);
    try {
      return await work(said);
    } finally {
      manager?.removeHandler?.(said);
    }
  }

  override handleLLMNewToken(
    token: string,
    _place: unknown,
    runId: string,
    _parentRunId?: string,
    _tags?: string[],
    fields?: { readonly chunk?: unknown },
  ): void {
    const message = (fields?.chunk as { readonly message?: AIMessageChunk } | undefined)?.message;
    const part = message !== undefined && isAIMessageChunk(message) ? message : new AIMessageChunk(token);
    // A model that is called again begins its answer anew.
    const before = this.#unfinished.get(runId);
    this.#last = before === undefined ? part : before.concat(part);
    this.#unfinished.set(runId, this.#last);
  }

  override handleLLMEnd(_output: unknown, runId: string): void {
    this.#unfinished.delete(runId);
  }
}

/** How long a stopped run is waited for, to learn what its model had said. */
const partialMs = 1_000;

/** What a run that was stopped still says, or what its model had said; undefined where it does not say so in time. */
export async function partialOf(running: Promise<unknown> | undefined, said: SaidSoFar): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), partialMs);
  });
  // LangChain's ModelAbortError, told by its field: the oldest supported core does not export the class.
  const partial = running?.catch((error: unknown) => (error as { partialOutput?: unknown } | undefined)?.partialOutput);
  try {
    return (await Promise.race([partial, tooLate])) ?? said.unfinished;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What was said when a run was stopped, as it is stored: marked by `response_metadata.interrupted`, without tool calls,
 * which nobody will answer. Undefined where nothing was said.
 */
export function interruptedMessage(partial: BaseMessage | undefined): BaseMessage | undefined {
  if (partial === undefined || roleOf(partial) !== "ai" || textOf(partial).trim() === "") {
    return undefined;
  }
  const { id, name, response_metadata } = partial;
  const said = { content: textOf(partial), response_metadata: { ...response_metadata, interrupted: true } };
  return new AIMessage({ ...said, ...(id !== undefined && { id }), ...(name !== undefined && { name }) });
}

/**
 * What a run that was stopped had answered, as it is stored: whole steps, and what was said behind them, marked as
 * interrupted. Calls that have no result yet are left out with all that follows them.
 */
export function interruptedAnswer(messages: readonly BaseMessage[]): BaseMessage[] {
  const { callsAt } = linkCalls(messages);
  const open = messages.findIndex((_, index) => callsAt.get(index)?.some(({ results }) => results.length === 0));
  const end = open < 0 ? messages.length - 1 : open;
  const last = interruptedMessage(messages[end]);
  const isResult = open < 0 && messages[end]?.getType() === "tool";
  const whole = messages.slice(0, isResult ? end + 1 : Math.max(end, 0));
  return last === undefined ? whole : [...whole, last];
}
