import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { ReductionOutcome } from "../reducers/reduction-outcome.js";
import type { AppendOptions, AppendOutcome } from "../session/append-options.js";
import {
  createMemoryContext,
  drainContext,
  type MemoryContext,
  type RedisChatMemoryOptions,
} from "../session/memory-context.js";
import { RedisChatMessageHistory, optionsFor, sessionOf } from "./redis-chat-message-history.js";
import { callerOf, type HistoryIdentity } from "../session/identity.js";
import { MemorySessions } from "../sessions/memory-sessions.js";
import { takeTurn } from "../session/hold/take-hold.js";
import { turnOptions, type WithTurnOptions } from "../session/hold/hold-options.js";

/** The options of a memory of this copy of the package; undefined for an object that only looks like one. */
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

  // A method and no static block, which bundlers would keep with all that it needs.
  private static contextOf(memory: object): MemoryContext | undefined {
    return #context in memory ? memory.#context : undefined;
  }

  /** Opens no connection yet. @throws ConfigurationError naming the option. */
  constructor(options: RedisChatMemoryOptions) {
    this.#context = createMemoryContext("RedisChatMemory", options);
    this.sessions = new MemorySessions(this.#context.source, this.#context.onEvent);
  }

  /**
   * The history of a session. Cheap: it makes no connection and reads nothing. With an owner, everything that is done
   * with it is done for this owner: a session of another one is refused.
   *
   * @throws ConfigurationError `owner`, `title`, `metadata`.
   */
  history(sessionId: string, identity: HistoryIdentity = {}): RedisChatMessageHistory {
    return new RedisChatMessageHistory(optionsFor(callerOf(sessionId, identity, this.#context), this.#context));
  }

  /**
   * For `RunnableWithMessageHistory`: a history whose first read stays the same until it changes something itself (a
   * write, `rewind`, `clear`, …), because that class reads twice and takes the difference in length for what is
   * new. It is an arrow function because it is called without its object.
   */
  readonly getMessageHistory = (sessionId: string, identity: HistoryIdentity = {}): RedisChatMessageHistory =>
    new RunScopedHistory(optionsFor(callerOf(sessionId, identity, this.#context), this.#context));

  /**
   * Runs a function with the session for itself: one turn of a session at a time, across all processes, first come,
   * first served. The turn is held while the function runs and given back when it returns or throws.
   *
   * What is written through the given history carries a fence: a process that was paused for longer than `holdMs`
   * cannot write once another turn has begun (ConflictError `fenced`), or the session was cleared by others or expired
   * (`epoch`). Two round trips besides those of the function, while nobody else waits. A turn of the same session
   * within the function, also one of a chain or agent with `oneTurnAtATime`, would wait for itself and is refused at
   * once: use the history that is given.
   *
   * @throws ConflictError `busy` (retryable) if the session is not free within `waitMs`, `nested_turn`, and
   *   `other_owner`; what the function throws.
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
  async withTurn<Result>(
    sessionId: string,
    run: (history: RedisChatMessageHistory) => Result | Promise<Result>,
    options?: WithTurnOptions,
  ): Promise<Result> {
    const { waitMs, holdMs, ...identity } = turnOptions(run, options);
    const history = this.history(sessionId, identity);
    const session = sessionOf("withTurn", history);
    const turn = await takeTurn(session, { owner: "withTurn", waitMs, holdMs });
    try {
      return await turn.within(() => run(history));
    } finally {
      await turn.release();
    }
  }

  /**
   * Resolves when no reduction is under way in the background and lists are up to date; call it before the process
   * ends.
   */
  drain(): Promise<void> {
    return drainContext(this.#context);
  }

  /** Waits for background reductions and closes the connection, if this memory opened one. */
  async close(): Promise<void> {
    await this.drain();
    await (this.#context.ownsStore ? this.#context.store.close?.() : undefined);
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * A history for one run: both reads of the run agree, whatever other writers do meanwhile. What this history itself
 * changes shows at once; what others change shows after its next change, or in the next history.
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

  /** Reads anew after a change, also where it fails: it may have happened. */
  async #change<Result>(change: () => Promise<Result>): Promise<Result> {
    try {
      return await change();
    } finally {
      this.#pinned = undefined;
    }
  }
}
