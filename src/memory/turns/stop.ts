import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AIMessage, AIMessageChunk, isAIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { inTime } from "../../base/bounds.js";
import { answeredId, callsOf, type Call, textOf } from "../../conversation/messages/content.js";
import { textAnswer } from "../../conversation/messages/copies/edit-message.js";
import { roleOf } from "../../conversation/messages/message.js";

// Stop, for chains and agents: how a run is notified, how partial model output is collected, and its stored form.

/** The signal that stops a run: while an agent's tools run, only LangGraph's own reports `stream.cancel()`. */
export function stopSignal(config: Partial<RunnableConfig>): AbortSignal | undefined {
  return callSignal(config) ?? config.signal;
}

/** Calls back once when the signal aborts, at once if it has. Returns a function that removes the listener. */
export function whenStopped(signal: AbortSignal, onStop: () => void): () => void {
  if (signal.aborted) {
    onStop();
  }
  signal.addEventListener("abort", onStop, { once: true });
  return () => signal.removeEventListener("abort", onStop);
}

interface HandlerList {
  addHandler?(handler: BaseCallbackHandler, inherit: boolean): void;
  removeHandler?(handler: BaseCallbackHandler): void;
}

/** Collects the output of running models, also if they stream inside an `invoke`. */
export class PartialOutput extends BaseCallbackHandler {
  override readonly name = "RedisMemoryPartialOutput";
  // Synchronous handling: tokens must be collected before the run stops.
  override awaitHandlers = true;
  readonly #unfinished = new Map<string, AIMessageChunk>();
  #last: AIMessageChunk | undefined;
  #hasSpoken = false;
  readonly #onRequest: ((messages: readonly BaseMessage[]) => Promise<void>) | undefined;

  constructor(onRequest?: (messages: readonly BaseMessage[]) => Promise<void>) {
    super();
    this.#onRequest = onRequest;
  }

  /** True once a model has said its first word. */
  get hasSpoken(): boolean {
    return this.#hasSpoken;
  }

  /** Output of the model that produced tokens last; undefined if none has. */
  get last(): AIMessageChunk | undefined {
    return this.#last;
  }

  /** Output of a model that has not ended; of several, the one that began last. */
  get unfinished(): AIMessageChunk | undefined {
    return [...this.#unfinished.values()].at(-1);
  }

  /** Listens to the models that are called under a config while `work` runs. */
  static async during<T>({ callbacks }: RunnableConfig, work: (said: PartialOutput) => Promise<T>): Promise<T> {
    const said = new PartialOutput();
    const manager = callbacks as HandlerList | undefined;
    manager?.addHandler?.(said, true);
    try {
      return await work(said);
    } finally {
      manager?.removeHandler?.(said);
    }
  }

  override async handleChatModelStart(...args: Parameters<NonNullable<BaseCallbackHandler["handleChatModelStart"]>>) {
    const [, [messages = []], , , , , metadata] = args;
    // A graph inside of the graph has a state of its own.
    if (!String(metadata?.["langgraph_checkpoint_ns"]).includes("|")) {
      await this.#onRequest?.(messages);
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
    this.#hasSpoken = true;
    // A repeated model call restarts its answer.
    const before = this.#unfinished.get(runId);
    this.#last = before === undefined ? part : before.concat(part);
    this.#unfinished.set(runId, this.#last);
  }

  override handleLLMEnd(_output: unknown, runId: string): void {
    this.#hasSpoken = true;
    this.#unfinished.delete(runId);
  }
}

/** Milliseconds to wait for a stopped run's partial output. */
const partialMs = 1_000;

/**
 * Partial output of a stopped run: its own, else its model's; undefined if none arrives in time, and where it was
 * stopped before the first word, whatever a model that ignores the signal says later.
 */
export async function partialOf(
  running: Promise<unknown> | undefined,
  said: PartialOutput | undefined,
): Promise<unknown> {
  // LangChain's ModelAbortError, told by its field: the oldest supported core does not export the class.
  const partialIn = (error: unknown) => (error as { partialOutput?: unknown } | undefined)?.partialOutput;
  const hasSpoken = said?.hasSpoken === true;
  const partial = running?.then((output) => (hasSpoken ? output : undefined), partialIn);
  return (await inTime(partial, partialMs, () => undefined)) ?? (hasSpoken ? said.unfinished : undefined);
}

/**
 * Stored form of a partial message: marked by `response_metadata.interrupted`, without tool calls, which nobody will
 * answer. Undefined for an empty message.
 */
export function interruptedMessage(partial: BaseMessage | undefined): BaseMessage | undefined {
  if (partial === undefined || roleOf(partial) !== "ai" || textOf(partial).trim() === "") {
    return undefined;
  }
  const { id, name, response_metadata } = textAnswer(partial, textOf(partial));
  const said = { content: textOf(partial), response_metadata: { ...response_metadata, interrupted: true } };
  return new AIMessage({ ...said, ...(id !== undefined && { id }), ...(name !== undefined && { name }) });
}

/** The index of the first message with a call that has no result; the length where there is none. */
export function firstOpenStep(messages: readonly BaseMessage[]): number {
  const answered = new Set(messages.map(answeredId));
  const isOpen = ({ id, readable }: Call) => readable && !answered.has(id);
  const first = messages.findIndex((message) => callsOf(message).some(isOpen));
  return first < 0 ? messages.length : first;
}

/**
 * Stored form of a stopped run's answer: complete steps, then the partial message, marked as interrupted. Omits calls
 * without a result and the messages after them.
 */
export function interruptedAnswer(messages: readonly BaseMessage[]): BaseMessage[] {
  const end = Math.min(firstOpenStep(messages), messages.length - 1);
  const last = interruptedMessage(messages[end]);
  const isResult = messages[end]?.getType() === "tool";
  const whole = messages.slice(0, isResult ? end + 1 : Math.max(end, 0));
  return last === undefined ? whole : [...whole, last];
}

// Fields of a run's config that LangGraph keeps to itself, read here only: see decision 18. In a version without them,
// each reads as absent.

type Config = Pick<RunnableConfig, "configurable">;

/** The method by which a checkpointer stores the writes of tasks. */
export type PutWrites = (
  config: { readonly configurable?: Readonly<Record<string, unknown>> },
  writes: readonly (readonly [string, unknown])[],
  ...rest: unknown[]
) => unknown;

/** The checkpointer of the graph's run; undefined for a run without one. */
export function checkpointerOf({ configurable }: Config): { readonly putWrites?: PutWrites } | undefined {
  const checkpointer: unknown = configurable?.["__pregel_checkpointer"];
  return typeof checkpointer === "object" && checkpointer !== null ? checkpointer : undefined;
}

/** The signal of the graph's call, which also `stream.cancel()` aborts; undefined for older versions. */
export function callSignal({ configurable }: Config): AbortSignal | undefined {
  const signals = configurable?.["__pregel_abort_signals"] as { externalAbortSignal?: AbortSignal } | undefined;
  return signals?.externalAbortSignal;
}

/** True for the config of a graph in a task of another one. */
export function isInTask({ configurable }: Config): boolean {
  return configurable?.["__pregel_task_id"] !== undefined;
}
