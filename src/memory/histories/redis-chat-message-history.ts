import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import { AIMessage, isBaseMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Round } from "../../conversation/messages/rounds.js";
import { toMessage } from "../../conversation/messages/message.js";
import type { SimulatedCall } from "../../conversation/messages/simulated-calls.js";
import type { ReducerRequest, ReductionOutcome } from "../../conversation/reducers/chat-history-reducer.js";
import { writeTurn, type AppendOptions, type AppendOutcome } from "../session/append-input.js";
import { ConversationSession } from "../session/conversation-session.js";
import { createMemoryContext, drainContext } from "../session/memory-context.js";
import type { MemoryContext, RedisChatMemoryOptions } from "../session/memory-context.js";
import type { HistoryStats, MessagePage, PageOptions } from "../session/screen-pages.js";
import type { StoredReduction } from "../../store/contract/session-data.js";
import type { ForkOptions } from "../sessions/copy-session.js";
import type { Replacement } from "../session/rewind-session.js";
import type { SessionRef } from "../../store/contract/session-ref.js";
import { ConfigurationError } from "../../base/errors.js";
import type { MemoryEvent } from "../../base/events.js";
import { inspectedAs } from "../../base/options.js";
import { loadedOnce, promised } from "../../base/bounds.js";

/** Options of {@link RedisChatMessageHistory}: those of the memory, and the session id. */
export type RedisChatMessageHistoryOptions = RedisChatMemoryOptions & {
  /**
   * The session id, 1 to 512 bytes. Treat it as a secret if it comes from a client: anyone who knows it can read the
   * session.
   */
  readonly sessionId: string;
};

const screenPages = loadedOnce(() => import("../session/screen-pages.js"));
const reductions = loadedOnce(() => import("../session/reduce-view.js"));
const rewinding = loadedOnce(() => import("../session/rewind-session.js"));

/** Private constructor argument: a memory's own session in place of options. */
class SessionOptions {
  readonly session: ConversationSession;

  constructor(session: ConversationSession) {
    this.session = session;
  }
}

/**
 * Chat message history of one session in Redis.
 *
 * Drop-in for the histories of @langchain/redis and @langchain/community: same options, same methods. Reads and writes
 * are one round trip each, a write is atomic and idempotent by message id, and a configured reducer bounds the view
 * while the transcript stays complete.
 *
 * @example
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { RedisChatMessageHistory } from "langchain-redis-memory";
 *
 * const url = "redis://localhost:6379";
 * const history = new RedisChatMessageHistory({ sessionId: "user-1", url, sessionTTL: 3600 });
 * await history.addMessages([new HumanMessage("Hi"), new AIMessage("Hello!")]);
 * const messages = await history.getMessages();
 * await history.close();
 */
export class RedisChatMessageHistory extends BaseListChatMessageHistory implements AsyncDisposable {
  override lc_namespace: string[] = ["langchain", "stores", "message", "redis_memory"];

  readonly #session: ConversationSession;
  readonly #ownsContext: boolean;

  // Undefined for a look-alike. A method, not a static block: bundlers would keep that with its dependencies.
  private static sessionIn(history: object): ConversationSession | undefined {
    return #session in history ? history.#session : undefined;
  }

  /** Opens no connection yet. @throws ConfigurationError naming the option. */
  constructor(options: RedisChatMessageHistoryOptions) {
    super();
    const shared = (options as unknown) instanceof SessionOptions ? (options as unknown as SessionOptions) : undefined;
    this.#ownsContext = shared === undefined;
    this.#session =
      shared?.session ??
      new ConversationSession({ id: options?.sessionId }, createMemoryContext("RedisChatMessageHistory", options));
    inspectedAs(this, () => `RedisChatMessageHistory(session ${JSON.stringify(this.sessionId)})`);
  }

  /** The session's id. */
  get sessionId(): string {
    return this.#session.sessionId;
  }

  /**
   * Returns the view (the messages for the model), oldest first: the transcript, unless it was reduced. One round trip.
   */
  override getMessages(): Promise<BaseMessage[]> {
    return this.#session.readView();
  }

  /** Adds one message: a message of LangChain, a `{ role, content }`, or a pair of role and text. */
  override addMessage(message: BaseMessageLike): Promise<void> {
    return this.addMessages([message]);
  }

  /** Adds a system message. */
  addSystemMessage(text: string): Promise<void> {
    return this.addMessage(new SystemMessage(text));
  }

  /** Adds a message of the model; the same as `addAIMessage`. */
  addAssistantMessage(text: string): Promise<void> {
    return this.addMessage(new AIMessage(text));
  }

  /** Adds the result of a call of the tool `name`. */
  addToolMessage(toolCallId: string, text: string, name?: string): Promise<void> {
    return this.addMessage(new ToolMessage({ content: text, tool_call_id: toolCallId, ...(name && { name }) }));
  }

  /**
   * Adds calls that no model made, with their results, as one turn: a message with all calls, then one for each result.
   * Idempotent by the calls' ids, which must differ from those of all calls of the session.
   *
   * @throws ConfigurationError naming the field; ConflictError if an id was simulated with other content.
   */
  async addSimulatedCalls(calls: readonly SimulatedCall[]): Promise<void> {
    const { simulatedTurn } = await import("../../conversation/messages/simulated-calls.js");
    await this.addMessages(simulatedTurn("addSimulatedCalls", calls));
  }

  /**
   * Adds a turn atomically and contiguously. Idempotent: messages whose id is stored already are not added again. One
   * round trip; one more for a reduction.
   *
   * @throws ConflictError if an id is stored with other content; RecordError for a message that cannot be stored;
   *   StoreError.
   */
  override addMessages(messages: readonly BaseMessageLike[]): Promise<void> {
    // Anything else is no message, and refused by append with its position.
    const isLike = (value: unknown) =>
      Array.isArray(value) || typeof (value as { role?: unknown } | null)?.role === "string";
    const made = (like: BaseMessageLike, index: number) =>
      isLike(like) && !isBaseMessage(like) ? toMessage(like, { option: "messages", list: "addMessages", index }) : like;
    const append = () =>
      this.append((Array.isArray(messages) ? messages.map(made) : messages) as readonly BaseMessage[]);
    return promised(append).then(() => undefined);
  }

  /**
   * {@link addMessages} with options and an outcome. With `turnId`, retries are idempotent also for messages without
   * ids.
   */
  append(messages: readonly BaseMessage[], options?: AppendOptions): Promise<AppendOutcome> {
    return this.#session.append(messages, options);
  }

  /**
   * Returns the transcript (every stored message) or a page of it, oldest first: `from` is a position (0 is the first
   * message), `limit` a number of messages. Redis serves nobody else for about 0.2 ms per 1,000 messages: read a long
   * session in pages.
   */
  getTranscript(options?: {
    /** Position of the first message; 0 or more. @default the oldest stored message */
    readonly from?: number;
    /** Maximum number of messages; 1 or more. @default all */
    readonly limit?: number;
  }): Promise<BaseMessage[]> {
    return this.#session.transcript(options);
  }

  /**
   * Returns the last `count` rounds of the transcript, oldest first. One round trip; more where they are long.
   *
   * @example
   * import { RedisChatMemory } from "langchain-redis-memory";
   *
   * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
   * const rounds = await memory.history("chat-7").getRounds(3);
   * console.log(rounds.map(({ index, messages }) => `${index}: ${messages[0]!.text}`));
   * await memory.close();
   */
  getRounds(count: number): Promise<Round[]> {
    return this.#session.rounds(count);
  }

  /**
   * Returns a page of the transcript for a user interface, oldest first; the newest page by default. Positions are
   * stable under concurrent writes. One round trip, whatever the length of the session.
   *
   * @throws ConfigurationError; ConflictError `unknown_message` if no message has the id `around`; StoreError.
   */
  async getPage(options: PageOptions = {}): Promise<MessagePage> {
    const { readMessagePage } = await screenPages();
    return readMessagePage(this.#session, options);
  }

  /** Returns statistics of the session: messages, rounds, tokens, times. One round trip that reads no message. */
  async stats(): Promise<HistoryStats> {
    const { readHistoryStats } = await screenPages();
    return readHistoryStats(this.#session);
  }

  /**
   * Returns what the session's next request takes of the model's window, before its question, for a gauge in a product:
   * `tokens` of the `window`, of which a request may take `room`; undefined where the window is not known. With
   * `source: "provider"` the provider's own count of the newest answer's request is the base, with what it held besides
   * messages. `system` and `tools` are needed only before the first answer, and where a reduction behind a write made
   * the view smaller since. One round trip; calls no model.
   *
   * @throws ConfigurationError naming the option; StoreError.
   */
  async contextUsage(
    request: Pick<ReducerRequest, "model" | "system" | "tools" | "config"> = {},
  ): Promise<Omit<Extract<MemoryEvent, { readonly type: "context_usage" }>, "type" | "sessionId"> | undefined> {
    const { readContextUsage } = await import("../session/context-usage.js");
    return readContextUsage(this.#session, request);
  }

  /** Returns the last 100 reductions, oldest first: time and new start of the view. */
  async getReductions(): Promise<StoredReduction[]> {
    const { readLastReductions } = await screenPages();
    return readLastReductions(this.#session);
  }

  /**
   * Runs the reducer now and stores the reduced view; the transcript stays. Takes a config of LangChain.
   *
   * @throws ConfigurationError without a reducer; ConflictError `stale` while another process reduces the session, or
   *   if others kept changing the view; errors of the reducer.
   */
  async reduceView(config?: RunnableConfig): Promise<ReductionOutcome> {
    const { reduceAndCommit } = await reductions();
    return reduceAndCommit(this.#session, config);
  }

  /**
   * Removes the message and everything after it from view and transcript; more than 1,000 messages in pieces, the
   * newest first. If that fails, call it again.
   *
   * @throws ConflictError `unknown_message` if it is not stored.
   */
  async rewind(messageId: string): Promise<void> {
    const { rewindTo } = await rewinding();
    return rewindTo(this.#session, messageId);
  }

  /** Removes the newest message and returns it; undefined if there is none. Never removes more than one message. */
  async removeLast(): Promise<BaseMessage | undefined> {
    const { removeLast } = await rewinding();
    return removeLast(this.#session);
  }

  /**
   * Atomically replaces the message and everything after it: an edit or a regenerated answer. An edited message may
   * keep its id. The rest of the session stays, also if its first message is replaced. One read of the end of the log,
   * and one write.
   *
   * @throws ConflictError `unknown_message` if it is not stored; `stale` if others kept writing; errors of `append`.
   */
  async replaceFrom(
    messageId: string,
    messages: readonly BaseMessage[],
    options: Omit<AppendOptions, "turn"> = {},
  ): Promise<AppendOutcome> {
    const { replaceFrom } = await import("../session/rewind-session.js");
    const write: Replacement["write"] = (turnOptions) => writeTurn(this, messages, turnOptions);
    return replaceFrom({ session: this.#session, messageId, messages, options, write });
  }

  /**
   * Copies the session, or its first `at` messages, under a new id, and returns the copy's history. The copy is a
   * consistent snapshot that becomes visible when it is complete. If `at` lies behind the view's start it has the same
   * view; otherwise its view is all of its messages, and the next write reduces it. A few round trips per 500 messages;
   * resumable after a failure.
   *
   * @throws ConflictError `exists` if there is a session of that id; `unknown_session` if this one does not exist;
   *   `position` if it has fewer than `at` messages, or discarded later ones; `stale` if others kept removing messages
   *   from it.
   */
  async fork(newSessionId: string, options: ForkOptions = {}): Promise<RedisChatMessageHistory> {
    const { ref, context } = this.#session;
    const { forkSession } = await import("../sessions/copy-session.js");
    await forkSession(this.#session, newSessionId, options);
    const owner = ref.owner === undefined ? {} : { owner: options.owner ?? ref.owner };
    return new RedisChatMessageHistory(optionsFor({ id: newSessionId, ...owner }, context));
  }

  /**
   * Repairs a session that lost keys in Redis (evicted or deleted) by deriving the index and state from the log. The
   * owner is restored from the remaining keys. If they name none, `owner` does; a history bound to an owner cannot
   * claim such a session. Title and metadata are lost with `state`. An encrypted record that was changed in Redis
   * stays: reads that reach it fail.
   *
   * @throws StoreError `damaged` if the owner's name is lost; ConflictError `other_owner`.
   */
  rebuild(
    options: {
      /** Owner of the session. */
      readonly owner?: string;
    } = {},
  ): Promise<void> {
    return this.#session.rebuild(options);
  }

  /** Deletes the session: messages, view and side data. */
  override clear(): Promise<void> {
    return this.#session.clear();
  }

  /** Iterates over the transcript, oldest first, in pages of 500 messages, so that memory stays bounded. */
  async *[Symbol.asyncIterator](): AsyncIterableIterator<BaseMessage> {
    for (let after: number | null = -1; after !== null;) {
      const page: MessagePage = await this.getPage({ after, limit: 500, order: "log" });
      yield* page.items.map(({ message }) => message);
      after = page.next;
    }
  }

  /** Drains, and closes the connection if this history opened it. */
  async close(): Promise<void> {
    if (this.#ownsContext) {
      await drainContext(this.#session.context);
      await (this.#session.context.ownsStore ? this.#session.context.store.close?.() : undefined);
    }
  }

  /** `close` for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Options for a history that shares the context of a memory instead of making its own. */
export function optionsFor(caller: Omit<SessionRef, "hold">, context: MemoryContext): RedisChatMessageHistoryOptions {
  return new SessionOptions(new ConversationSession(caller, context)) as unknown as RedisChatMessageHistoryOptions;
}

/** The writing methods of a history. */
type Writer = Pick<RedisChatMessageHistory, "append" | "addMessages">;

/**
 * The session of a history, for features that write no messages.
 *
 * @throws ConfigurationError `history` for a look-alike.
 */
export function historySession(owner: string, history: object): ConversationSession {
  const session = RedisChatMessageHistory["sessionIn"](history);
  if (session === undefined) {
    throw new ConfigurationError(
      "history",
      `${owner}: the history must be a RedisChatMessageHistory of this copy of the package, or of a subclass. ` +
        "The ES module and the CommonJS build are two copies; load one of them only.",
    );
  }
  return session;
}

/** True where a subclass decides what is stored in the place of a message. */
export function overridesAppend(history: RedisChatMessageHistory): boolean {
  return (history as Writer).append !== (RedisChatMessageHistory.prototype as Writer).append;
}

/**
 * The session of a history that messages are written to through the history's own `append`, which a subclass may
 * override.
 *
 * @throws ConfigurationError `history` for a look-alike, and for a subclass that overrides `addMessages` only, because
 *   its changes would be bypassed.
 */
export function sessionOf(owner: string, history: object): ConversationSession {
  const session = historySession(owner, history);
  const original: Writer = RedisChatMessageHistory.prototype;
  const { append, addMessages } = history as Writer;
  if (addMessages !== original.addMessages && append === original.append) {
    throw new ConfigurationError(
      "history",
      `${owner}: the history overrides addMessages but not append, by which turns are stored. ` +
        'Override append, which addMessages calls too, or use the option "beforeStore" of the memory.',
    );
  }
  return session;
}
