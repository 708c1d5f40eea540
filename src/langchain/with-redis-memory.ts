import type { CallbackManagerForChainRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import {
  patchConfig,
  Runnable,
  RunnableLambda,
  RunnableMap,
  type RunnableConfig,
  type RunnableLike,
} from "@langchain/core/runnables";
import { concat } from "@langchain/core/utils/stream";
import { z } from "zod";
import { ConfigurationError } from "../errors.js";
import { lazy, nonEmptyText, objectWith, parseOptions } from "../options.js";
import type { RedisChatMemory } from "../memory/redis-chat-memory.js";
import type { RedisChatMessageHistory } from "../memory/redis-chat-message-history.js";
import { inputMessages, newMessages, outputMessages, type ChainInput } from "./chain-messages.js";
import { guardedView } from "./guarded-view.js";
import { sessionIdOf, sessionIdSchema, type SessionIdOption } from "./session-id.js";
import { startTurn } from "./turn-start.js";

/** Options of {@link withRedisMemory}; the keys mean the same as in `RunnableWithMessageHistory`. */
export interface WithRedisMemoryOptions {
  /** Where the conversations are. */
  readonly memory: RedisChatMemory;
  /** The key of the input that holds what the user said. @default the only key, else "input" */
  readonly inputMessagesKey?: string;
  /** The key of the output that holds the answer. @default the only key, else "output" */
  readonly outputMessagesKey?: string;
  /** The key under which the runnable gets the history; without it, the history stands before the input messages. */
  readonly historyMessagesKey?: string;
  /** The session, or how to find it in the run's config. @default `configurable.sessionId` */
  readonly sessionId?: SessionIdOption<RunnableConfig>;
}

const optionsSchema = lazy(() =>
  z.strictObject({
    memory: objectWith<RedisChatMemory>(["history", "getMessageHistory"], "a RedisChatMemory"),
    inputMessagesKey: nonEmptyText().optional(),
    outputMessagesKey: nonEmptyText().optional(),
    historyMessagesKey: nonEmptyText().optional(),
    sessionId: sessionIdSchema<RunnableConfig>("config"),
  }),
);

const sessionHint =
  'pass { configurable: { sessionId: "…" } } as the second argument, or give withRedisMemory the option "sessionId"';

/**
 * A runnable with a memory: reads the session's view, runs, and stores the turn (what came in and what came out) in one
 * write.
 *
 * Unlike `RunnableWithMessageHistory` it rejects when the turn could not be stored, keeps the sessions of a `batch`
 * apart, reads once, and loses no message under a second writer. A run that fails, is aborted, or whose stream is not
 * read to its end stores nothing. The session comes from `configurable.sessionId`. A retry of a turn that is in the
 * view already (the same `configurable.turnId`, or messages with the same ids) runs on what came before it and adds
 * nothing. What the runnable gets is repaired where providers would refuse it (an interrupted tool call, for example)
 * and reported to `onEvent`; what is stored stays as it was.
 *
 * @throws ConfigurationError when no session is named, or for input or output that holds no messages; StoreError and
 *   ConflictError from the write.
 * @example
 * const keys = { inputMessagesKey: "input", historyMessagesKey: "history" };
 * const chain = withRedisMemory(prompt.pipe(model), { memory, ...keys });
 * await chain.invoke({ input: "Hi" }, { configurable: { sessionId: "user-1" } });
 */
export function withRedisMemory<Output>(
  runnable: RunnableLike<never, Output>,
  options: WithRedisMemoryOptions,
): Runnable<ChainInput, Output> {
  return new RunnableWithRedisMemory<Output>(runnable, options);
}

interface Turn {
  readonly history: RedisChatMessageHistory;
  readonly turnId: string | undefined;
  /**
   * True for the retry of a turn that is stored with its answer: it runs again on what came before it, and nothing is
   * stored twice.
   */
  readonly isStored: boolean;
  /** What the user brings and is not stored yet. */
  readonly fresh: readonly BaseMessage[];
  /** All that the runnable sees of the conversation. */
  readonly sent: readonly BaseMessage[];
  /** The runnable's input. */
  readonly input: unknown;
}

class RunnableWithRedisMemory<Output> extends Runnable<ChainInput, Output> {
  static override lc_name(): string {
    return "RunnableWithRedisMemory";
  }

  override lc_namespace: string[] = ["langchain_redis_memory", "langchain"];
  readonly #bound: Runnable<unknown, Output>;
  readonly #options: WithRedisMemoryOptions;

  constructor(runnable: RunnableLike<never, Output>, options: WithRedisMemoryOptions) {
    super();
    this.#options = parseOptions("withRedisMemory", optionsSchema(), options);
    this.#bound = coerceToRunnable(runnable);
  }

  override invoke(input: ChainInput, options?: Partial<RunnableConfig>): Promise<Output> {
    return this._callWithConfig(
      async (value: ChainInput, config?: Partial<RunnableConfig>, runManager?: CallbackManagerForChainRun) => {
        const turn = await this.#begin(value, config ?? {});
        const output = await this.#bound.invoke(turn.input, childConfig(config, runManager));
        await this.#store(turn, output, config);
        return output;
      },
      input,
      options,
    );
  }

  override async *_streamIterator(input: ChainInput, options?: Partial<RunnableConfig>): AsyncGenerator<Output> {
    async function* once() {
      yield input;
    }
    yield* this._transformStreamWithConfig(
      once(),
      (inputs, runManager, config) => this.#play(inputs, { runManager, config }),
      options as RunnableConfig,
    );
  }

  async *#play(
    inputs: AsyncGenerator<ChainInput>,
    {
      runManager,
      config,
    }: { runManager?: CallbackManagerForChainRun | undefined; config?: Partial<RunnableConfig> | undefined },
  ): AsyncGenerator<Output> {
    for await (const input of inputs) {
      const turn = await this.#begin(input, config ?? {});
      let whole: Output | undefined;
      for await (const chunk of await this.#bound.stream(turn.input, childConfig(config, runManager))) {
        whole = whole === undefined ? chunk : joinChunks(whole, chunk);
        yield chunk;
      }
      if (whole !== undefined) {
        await this.#store(turn, whole, config);
      }
    }
  }

  async #begin(input: ChainInput, config: Partial<RunnableConfig>): Promise<Turn> {
    const { memory, inputMessagesKey, historyMessagesKey } = this.#options;
    const named: unknown = this.#options.sessionId ?? config.configurable?.["sessionId"];
    const history = memory.history(sessionIdOf({ named, run: config, owner: "withRedisMemory", hint: sessionHint }));
    const brought = inputMessages(input, inputMessagesKey);
    const turnId = turnIdOf(config);
    const { before, shown, fresh, isStored } = startTurn({ view: await history.getMessages(), brought, turnId });
    const view = guardedView({ history, view: before, brought: shown });
    const sent = [...view, ...shown];
    const forRunnable = this.#inputWith({ input, view, sent, key: historyMessagesKey ?? inputMessagesKey });
    return { history, turnId, isStored, fresh, sent, input: forRunnable };
  }

  #inputWith({
    input,
    view,
    sent,
    key,
  }: {
    input: ChainInput;
    view: BaseMessage[];
    sent: BaseMessage[];
    key: string | undefined;
  }): unknown {
    if (key === undefined) {
      return sent;
    }
    const shown = this.#options.historyMessagesKey === undefined ? sent : view;
    return isPlainInput(input)
      ? { ...input, [key]: shown }
      : { [this.#options.inputMessagesKey ?? "input"]: input, [key]: shown };
  }

  async #store(turn: Turn, output: Output, config: Partial<RunnableConfig> | undefined): Promise<void> {
    // The caller of an aborted run has been answered already; storing now would contradict that answer.
    config?.signal?.throwIfAborted();
    if (turn.isStored) {
      return;
    }
    const answered = newMessages(turn.sent, outputMessages(output, this.#options.outputMessagesKey));
    await turn.history.append(
      [...turn.fresh, ...answered],
      turn.turnId === undefined ? undefined : { turnId: turn.turnId },
    );
  }
}

function turnIdOf({ configurable }: Partial<RunnableConfig>): string | undefined {
  const turnId: unknown = configurable?.["turnId"];
  if (turnId !== undefined && (typeof turnId !== "string" || turnId === "")) {
    throw new ConfigurationError(
      "turnId",
      "withRedisMemory: configurable.turnId must be a non-empty string; without one, leave it out.",
    );
  }
  return turnId;
}

function childConfig(
  config: Partial<RunnableConfig> | undefined,
  runManager: CallbackManagerForChainRun | undefined,
): Partial<RunnableConfig> {
  return patchConfig(config, { callbacks: runManager?.getChild() });
}

function isPlainInput(input: ChainInput): input is Readonly<Record<string, unknown>> {
  return (
    typeof input === "object" &&
    input !== null &&
    !Array.isArray(input) &&
    !("content" in input && ("role" in input || "lc_kwargs" in input))
  );
}

function coerceToRunnable<Output>(runnable: RunnableLike<never, Output>): Runnable<unknown, Output> {
  if (typeof (runnable as { invoke?: unknown } | undefined)?.invoke === "function") {
    return runnable as unknown as Runnable<unknown, Output>;
  }
  if (typeof runnable === "function") {
    return RunnableLambda.from(runnable as (input: unknown) => Output | Promise<Output>) as Runnable<unknown, Output>;
  }
  if (typeof runnable === "object" && runnable !== null && !Array.isArray(runnable)) {
    return RunnableMap.from(runnable as never) as unknown as Runnable<unknown, Output>;
  }
  throw new ConfigurationError(
    "runnable",
    "withRedisMemory: the first argument must be a Runnable, a function, or an object of these.",
  );
}

/** Chunks add up where they can; where they cannot (whole values in a row), the last one is the output. */
function joinChunks<Output>(whole: Output, chunk: Output): Output {
  try {
    return concat(whole as never, chunk as never) as Output;
  } catch {
    return chunk;
  }
}
