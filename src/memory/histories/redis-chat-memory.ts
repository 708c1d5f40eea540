import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { ReductionOutcome } from "../../conversation/reducers/chat-history-reducer.js";
import type { AppendOptions, AppendOutcome } from "../session/append-input.js";
import { createMemoryContext, drainContext } from "../session/memory-context.js";
import type { MemoryContext, RedisChatMemoryOptions } from "../session/memory-context.js";
import type { MemoryTurn } from "../turns/manual-turn.js";
import { RedisChatMessageHistory, optionsFor, overridesAppend, sessionOf } from "./redis-chat-message-history.js";
import { callerOf, type HistoryIdentity } from "../session/identity.js";
import { MemorySessions } from "../sessions/memory-sessions.js";
import { takeTurn } from "../session/hold/acquire-hold.js";
import { turnOptions, type WithTurnOptions } from "../session/hold/local-holds.js";

/** The context of a memory of this copy of the package; undefined for a look-alike. */
export function contextOf(owner: object): MemoryContext | undefined {
  return RedisChatMemory["contextOf"](owner);
}

/**
 * The conversations of an application: one connection and one set of options, and a history for each session.
 *
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { RedisChatMemory, withRedisMemory } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", sessionTTL: 86_400 });
 * const chat = withRedisMemory(new ChatOpenAI({ model: "gpt-4o-mini" }), { memory });
 * await chat.invoke("Hi", { configurable: { sessionId: "user-1" } });
 * await memory.close();
 */
export class RedisChatMemory implements AsyncDisposable {
  readonly #context: MemoryContext;

  /** Lists of sessions by owner, titles, export, erasure and re-encryption. */
  readonly sessions: MemorySessions;

  // A method, not a static block: bundlers would keep that with its dependencies.
  private static contextOf(memory: object): MemoryContext | undefined {
    return #context in memory ? memory.#context : undefined;
  }

  /** Opens no connection yet. @throws ConfigurationError naming the option. */
  constructor(options: RedisChatMemoryOptions) {
    this.#context = createMemoryContext("RedisChatMemory", options);
    const { source, onEvent, ownerNamespaces } = this.#context;
    this.sessions = new MemorySessions(source, onEvent, ownerNamespaces);
  }

  /**
   * Returns the history of a session, without any I/O. With an owner, every call is made on behalf of this owner: a
   * session of another owner is refused.
   *
   * @throws ConfigurationError `owner`, `title`, `metadata`.
   */
  history(sessionId: string, identity: HistoryIdentity = {}): RedisChatMessageHistory {
    return new RedisChatMessageHistory(optionsFor(callerOf(sessionId, identity), this.#context));
  }

  /**
   * For `RunnableWithMessageHistory`: a history with a repeatable read, which lasts until its own next change (a write,
   * `rewind`, `clear`, …), because that class reads twice and takes the difference in length for new messages. An arrow
   * function, because it is called without its object.
   */
  readonly getMessageHistory = (sessionId: string, identity: HistoryIdentity = {}): RedisChatMessageHistory =>
    new RunScopedHistory(optionsFor(callerOf(sessionId, identity), this.#context));

  /**
   * Runs a function under a hold, an exclusive lock on writing to the session, across all processes and in FIFO order.
   * The hold is released when the function returns or throws.
   *
   * Writes through the given history carry a fencing token: a process that was paused for longer than `holdMs` cannot
   * write once another turn has begun (ConflictError `fenced`), or the session was cleared by others or expired
   * (`epoch`). Two additional round trips while nobody else waits. A nested turn of the same session, also of a chain
   * or agent with `oneTurnAtATime`, would deadlock and is refused at once: use the given history.
   *
   * With `input` the turn is opened, and the function gets it as its second argument: the question is stored before the
   * model is called, requests keep every limit, a retried job (`turnId`) gets the stored answer, and a question that
   * the provider refuses for good is marked, as in chains and agents. A turn that the function does not finish stays
   * open.
   *
   * @throws ConflictError `busy` (retryable) if the session is not free within `waitMs`, `nested_turn`, and
   *   `other_owner`; errors of the function.
   * @example
   * import { HumanMessage } from "@langchain/core/messages";
   * import { ChatOpenAI } from "@langchain/openai";
   * import { RedisChatMemory } from "langchain-redis-memory";
   *
   * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
   * const model = new ChatOpenAI({ model: "gpt-4o-mini" });
   * await memory.withTurn("ann-1", async (history) => {
   *   const question = new HumanMessage("Hi");
   *   const answer = await model.invoke([...(await history.getMessages()), question]);
   *   await history.addMessages([question, answer]);
   * });
   * await memory.close();
   */
  withTurn<Result>(
    sessionId: string,
    run: (history: RedisChatMessageHistory, turn: MemoryTurn) => Result | Promise<Result>,
    options: WithTurnOptions & Required<Pick<WithTurnOptions, "input">>,
  ): Promise<Result>;
  /** The same without `input`: the function writes by the history. */
  withTurn<Result>(
    sessionId: string,
    run: (history: RedisChatMessageHistory) => Result | Promise<Result>,
    options?: WithTurnOptions,
  ): Promise<Result>;
  async withTurn<Result>(
    sessionId: string,
    run: (history: RedisChatMessageHistory, turn: MemoryTurn) => Result | Promise<Result>,
    options?: WithTurnOptions,
  ): Promise<Result> {
    const { waitMs, holdMs, input, turnId, ...identity } = turnOptions(run, options);
    const history = this.history(sessionId, identity);
    const session = sessionOf("withTurn", history);
    const held = await takeTurn(session, { owner: "withTurn", waitMs, holdMs });
    try {
      return await held.within(async () => {
        if (input === undefined) {
          return (run as (history: RedisChatMessageHistory) => Result | Promise<Result>)(history);
        }
        const { runManually } = await import("../turns/manual-turn.js");
        const place = { history, session, isRewritten: overridesAppend(history), turnId };
        return runManually(place, input, (turn) => run(history, turn));
      });
    } finally {
      await held.release();
    }
  }

  /** Resolves when background reductions have ended and lists are up to date; call it before the process exits. */
  drain(): Promise<void> {
    return drainContext(this.#context);
  }

  /**
   * Stops the runs of `redisRuns`, drains, releases the holds of runs under way, and closes the connection if this
   * memory opened it.
   */
  async close(): Promise<void> {
    await Promise.all([...this.#context.onClose].map((end) => end()));
    await this.drain();
    await this.#context.holds.releaseAll();
    await (this.#context.ownsStore ? this.#context.store.close?.() : undefined);
  }

  /** `close` for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * A history for one run with repeatable reads: both reads of the run agree despite concurrent writers. Its own changes
 * are visible at once; changes of others after its next change, or in the next history.
 */
class RunScopedHistory extends RedisChatMessageHistory {
  #pinned: Promise<BaseMessage[]> | undefined;

  override async getMessages(): Promise<BaseMessage[]> {
    this.#pinned ??= super.getMessages();
    const reading = this.#pinned;
    try {
      return [...(await reading)];
    } catch (error) {
      this.#pinned = this.#pinned === reading ? undefined : this.#pinned;
      throw error;
    }
  }

  override append(messages: readonly BaseMessage[], options?: AppendOptions): Promise<AppendOutcome> {
    return this.#change(() => super.append(messages, options));
  }

  override reduceView(config?: RunnableConfig): Promise<ReductionOutcome> {
    return this.#change(() => super.reduceView(config));
  }

  override rewind(messageId: string): Promise<void> {
    return this.#change(() => super.rewind(messageId));
  }

  override rebuild(): Promise<void> {
    return this.#change(() => super.rebuild());
  }

  override clear(): Promise<void> {
    return this.#change(() => super.clear());
  }

  /** Invalidates the read after a change, also a failed one, which may have happened. */
  async #change<Result>(change: () => Promise<Result>): Promise<Result> {
    try {
      return await change();
    } finally {
      this.#pinned = undefined;
    }
  }
}
