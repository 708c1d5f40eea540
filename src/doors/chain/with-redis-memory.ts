import { CallbackManager, type CallbackManagerForChainRun } from "@langchain/core/callbacks/manager";
import { ensureConfig, patchConfig, Runnable, RunnableLambda, RunnableMap } from "@langchain/core/runnables";
import type { RunnableConfig, RunnableLike } from "@langchain/core/runnables";
import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { ConfigurationError } from "../../base/errors.js";
import { isRecord } from "../../conversation/messages/message.js";
import type { ChainInput } from "./messages.js";
import { chainOptions, type ChainOptions, type WithRedisMemoryOptions } from "./options.js";
import { ChainTurn } from "./turn.js";
import { asChunk, chunkReader, type StreamForm } from "./join-chunks.js";
import { showAnswer } from "../../memory/turns/show-answer.js";
import { partialOf, type PartialOutput, whenStopped } from "../../memory/turns/stop.js";

/**
 * Wraps a runnable with a memory: reads the session's view, runs, and stores the turn (input and output).
 *
 * Unlike `RunnableWithMessageHistory` it rejects if the turn could not be stored, keeps the sessions of a `batch`
 * apart, reads once, and loses no message to concurrent writers. Idempotent: a repeated turn (same
 * `configurable.turnId`, same message ids, or same whole history) is stored once, and its stored answer is returned
 * without a model call. The runnable's input is repaired for the profile, reported to `onEvent`; stored messages are
 * not changed. The session id comes from `configurable.sessionId`.
 *
 * @throws ConfigurationError without a session id, or for input or output without messages; StoreError and
 *   ConflictError from the write.
 * @example
 * import { ChatPromptTemplate } from "@langchain/core/prompts";
 * import { ChatOpenAI } from "@langchain/openai";
 * import { RedisChatMemory, withRedisMemory } from "langchain-redis-memory";
 *
 * const prompt = ChatPromptTemplate.fromMessages([["placeholder", "{history}"], ["human", "{input}"]]);
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const keys = { inputMessagesKey: "input", historyMessagesKey: "history" } as const;
 * const chain = withRedisMemory(prompt.pipe(new ChatOpenAI({ model: "gpt-4o-mini" })), { memory, ...keys });
 * await chain.invoke({ input: "Hi" }, { configurable: { sessionId: "user-1" } });
 * await memory.close();
 */
export function withRedisMemory<
  Input,
  Output,
  const InputKey extends string = never,
  const HistoryKey extends string = never,
>(
  runnable: RunnableLike<Input, Output> | AgentLike<Output>,
  options: WithRedisMemoryOptions & {
    /** Input key of the user messages. @default the only key, else "input"; of an agent "messages" */
    readonly inputMessagesKey?: InputKey;
    /** Input key of the history for the runnable. @default none: the history precedes the input */
    readonly historyMessagesKey?: HistoryKey;
  },
): Runnable<MemoryInput<Input, InputKey, HistoryKey>, Output> {
  return new RunnableWithRedisMemory<MemoryInput<Input, InputKey, HistoryKey>, Output>(runnable, options);
}

class RunnableWithRedisMemory<Input, Output> extends Runnable<Input, Output> {
  static override lc_name(): string {
    return "RunnableWithRedisMemory";
  }

  override lc_namespace: string[] = ["langchain_redis_memory", "langchain"];
  /** `acts` is true for agents and graphs, which may call tools before a request is refused. */
  readonly #options: ChainOptions & { readonly acts: boolean };
  /** By each run's own signal: detaches it from the caller's. */
  readonly #settle = new WeakMap<AbortSignal, () => void>();

  constructor(runnable: unknown, options: WithRedisMemoryOptions) {
    super();
    const checked = chainOptions(options, coerceToRunnable(runnable));
    const acts = takesState(runnable);
    const inputMessagesKey = checked.inputMessagesKey ?? (acts ? "messages" : undefined);
    this.#options = { ...checked, acts, ...(inputMessagesKey !== undefined && { inputMessagesKey }) };
  }

  override invoke(input: Input, options?: Partial<RunnableConfig>): Promise<Output> {
    const own = this.#stoppable(options);
    const run = this._callWithConfig(
      (value: Input, config?: Partial<RunnableConfig>, runManager?: CallbackManagerForChainRun) =>
        this.#run(value, config ?? {}, runManager),
      input,
      own,
    );
    return run.finally(() => this.#ignoreStops(own.signal));
  }

  override stream(input: Input, options?: Partial<RunnableConfig>): ReturnType<Runnable<Input, Output>["stream"]> {
    return super.stream(input, this.#stoppable(options));
  }

  override async *_streamIterator(input: Input, options?: Partial<RunnableConfig>): AsyncGenerator<Output> {
    async function* once() {
      yield input;
    }
    yield* this._transformStreamWithConfig(
      once(),
      (inputs, runManager, config) => this.#play(inputs, config ?? {}, runManager),
      this.#stoppable(options),
    );
  }

  /**
   * The config with a signal of the run's own. LangChain rejects any run whose signal aborts; detached once the answer
   * is complete, the caller always gets the stored answer.
   */
  #stoppable(options: Partial<RunnableConfig> | undefined): RunnableConfig {
    const config = ensureConfig(options);
    const { signal } = config;
    if (signal === undefined || this.#settle.has(signal)) {
      return config;
    }
    const own = new AbortController();
    const forward = () => own.abort(signal.reason);
    this.#settle.set(own.signal, whenStopped(signal, forward));
    return { ...config, signal: own.signal };
  }

  /** Stores the answer; from here on a stop has no effect. */
  async #finish(turn: ChainTurn, output: Output, { signal }: Partial<RunnableConfig>): Promise<Output> {
    signal?.throwIfAborted();
    this.#ignoreStops(signal);
    return turn.finish(output);
  }

  #ignoreStops(signal: AbortSignal | undefined): void {
    if (signal !== undefined) {
      this.#settle.get(signal)?.();
    }
  }

  async #run(
    input: Input,
    config: Partial<RunnableConfig>,
    runManager: CallbackManagerForChainRun | undefined,
  ): Promise<Output> {
    const own = childConfig(config, runManager);
    const turn = await ChainTurn.begin(this.#options, input as ChainInput, own);
    const { replay } = turn;
    const chunks = this.#options.acts
      ? chunkReader<Output>(this.#options.runnable, { streamMode: "values" })
      : undefined;
    let running: Promise<Output> | undefined;
    // Only a signal stops a run, so without one nobody asks what was said; but the requests of a graph tell its steps.
    const said = config.signal || this.#options.acts ? turn.listener() : undefined;
    const unwatch = config.signal && whenStopped(config.signal, () => void turn.stop(() => partialOf(running, said)));
    try {
      if (replay !== undefined) {
        await showAnswer(replay, own);
        return replay.value as Output;
      }
      config.signal?.throwIfAborted();
      const child = said === undefined ? own : childConfig(config, runManager, said);
      const call = (runnable: Runnable, value: unknown) =>
        chunks?.outputOf(runnable, value, child) ?? (runnable.invoke(value, child) as Promise<Output>);
      const ask = () => (running = turn.calling(call));
      const output = await turn.asking(ask);
      return await this.#finish(turn, output, config);
    } catch (error) {
      await turn.fail(error, chunks?.whole);
      throw error;
    } finally {
      unwatch?.();
      await turn.end();
    }
  }

  /** The chunks of an answer. A request that is refused before the first one may be tried again. */
  async *#chunks(turn: ChainTurn, config: Partial<RunnableConfig>): AsyncGenerator<Output> {
    for (let isBegun = false; ;) {
      try {
        const stream = await turn.calling((runnable, input) => runnable.stream(input, config));
        for await (const chunk of stream as AsyncIterable<Output>) {
          isBegun = true;
          yield chunk;
        }
        return;
      } catch (error) {
        if (isBegun || !(await turn.again(error))) {
          throw error;
        }
      }
    }
  }

  async *#play(
    inputs: AsyncGenerator<Input>,
    config: Partial<RunnableConfig>,
    runManager: CallbackManagerForChainRun | undefined,
  ): AsyncGenerator<Output> {
    for await (const input of inputs) {
      const turn = await ChainTurn.begin(this.#options, input as ChainInput, childConfig(config, runManager));
      const { replay } = turn;
      const chunks = chunkReader<Output>(this.#options.runnable, config);
      // The words of an agent stand in no state yet, and a caller of `streamEvents` sees any before their chunks.
      const said = turn.listener();
      const stop = () => turn.stop(() => chunks.upTo(said));
      // Both paths are needed: a generator without a pending read does not notice an abort.
      const unwatch = config.signal && whenStopped(config.signal, () => void stop());
      let isLeft = true;
      try {
        if (replay !== undefined) {
          await showAnswer(replay, childConfig(config, runManager));
          yield asChunk(replay.value as Output, config as StreamForm);
        } else {
          const child = { ...childConfig(config, runManager, said), ...chunks.form };
          for await (const chunk of this.#chunks(turn, child)) {
            const shown = chunks.read(chunk);
            turn.signOfLife();
            yield* shown;
          }
          if (chunks.whole !== undefined) {
            await this.#finish(turn, chunks.whole, config);
          }
        }
        isLeft = false;
      } catch (error) {
        isLeft = false;
        await turn.fail(error, chunks.whole);
        throw error;
      } finally {
        unwatch?.();
        this.#ignoreStops(config.signal);
        await (isLeft ? stop() : turn.end());
      }
    }
  }
}

function childConfig(
  config: Partial<RunnableConfig>,
  runManager: CallbackManagerForChainRun | undefined,
  said?: PartialOutput,
): Partial<RunnableConfig> {
  const callbacks = runManager?.getChild() ?? (said && new CallbackManager());
  if (said !== undefined) {
    callbacks?.addHandler(said, true);
  }
  return patchConfig(config, { callbacks });
}

/** True for agents of `createAgent` (not Runnables) and graphs, whose messages are under a key. */
function takesState(runnable: unknown): boolean {
  const { channels } = runnable as { readonly channels?: unknown };
  const isGraph = (runnable as { readonly lg_is_pregel?: unknown }).lg_is_pregel === true;
  const isAgent = typeof (runnable as { invoke?: unknown }).invoke === "function" && !Runnable.isRunnable(runnable);
  return isAgent || (isGraph && isRecord(channels) && "messages" in channels);
}

function coerceToRunnable(runnable: unknown): Runnable {
  if (typeof (runnable as { invoke?: unknown } | undefined)?.invoke === "function") {
    return runnable as Runnable;
  }
  if (typeof runnable === "function") {
    return RunnableLambda.from(runnable as (input: unknown) => unknown);
  }
  if (typeof runnable === "object" && runnable !== null && !Array.isArray(runnable)) {
    return RunnableMap.from(runnable as never);
  }
  throw new ConfigurationError(
    "runnable",
    "withRedisMemory: the first argument must be a Runnable, a function, or an object of these.",
  );
}

/** Structural type of an agent of `createAgent`, which is not a Runnable. */
interface AgentLike<Output> {
  /** Runs the agent to its end. */
  invoke(state: never, config?: never): Promise<Output>;
  /** Runs the agent and streams what happens. */
  stream(state: never, config?: never): Promise<unknown>;
}

/**
 * Input of a chain with memory: the chain's own input without the history key. Without a history key, the user messages
 * may be text, a message or messages. An untyped chain accepts anything, with the key `inputMessagesKey` if that is
 * given.
 */
type MemoryInput<Input, InputKey extends string, HistoryKey extends string> = unknown extends Input
  ? LooseInput<InputKey>
  : string extends keyof Input
    ? LooseInput<InputKey>
    : [Extract<Input, string | readonly unknown[] | BaseMessage>] extends [never]
      ? [HistoryKey] extends [never]
        ? {
            [K in keyof Input]: [InputKey] extends [never]
              ? string | BaseMessageLike | readonly BaseMessageLike[]
              : K extends InputKey
                ? string | BaseMessageLike | readonly BaseMessageLike[]
                : Input[K];
          }
        : Omit<Input, HistoryKey>
      : ChainInput;

/** An input of unknown keys, except the given one. */
type LooseInput<InputKey extends string> = [InputKey] extends [never]
  ? ChainInput
  : | string
    | BaseMessageLike
    | readonly BaseMessageLike[]
    | (Readonly<Record<InputKey, string | BaseMessageLike | readonly BaseMessageLike[]>> &
        Readonly<Record<string, unknown>>);
