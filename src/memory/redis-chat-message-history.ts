import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Round } from "../messages/rounds.js";
import type { ReductionOutcome } from "../reducers/reduction-outcome.js";
import { writeTurn, type AppendOptions, type AppendOutcome } from "../session/append-options.js";
import { ConversationSession } from "../session/conversation-session.js";
import {
  createMemoryContext,
  drainContext,
  type MemoryContext,
  type RedisChatMemoryOptions,
} from "../session/memory-context.js";
import {
  readHistoryStats,
  readLastReductions,
  readMessagePage,
  type HistoryStats,
  type MessagePage,
  type PageOptions,
} from "../session/screen-pages.js";
import type { StoredReduction } from "../store/session-pages.js";
import { forkSession, type ForkOptions } from "../sessions/fork-session.js";
import { replaceFrom, type Replacement } from "../session/replace-from.js";
import type { SessionRef } from "../store/session-ref.js";
import { ConfigurationError } from "../base/errors.js";

/** Options of {@link RedisChatMessageHistory}: those of the memory, and the session. */
export type RedisChatMessageHistoryOptions = RedisChatMemoryOptions & {
  /**
   * The session: any string of 1 to 512 bytes. Treat it as a secret if it comes from a client: anyone who knows it can
   * read the session.
   */
  readonly sessionId: string;
};

/** What a memory constructs its histories with: a session of its own, in place of options. */
class SessionOptions {
  readonly session: ConversationSession;

  constructor(session: ConversationSession) {
    this.session = session;
  }
}

/** The session behind a history of this copy of the package; undefined for what only looks like one. */
export function sessionIn(owner: object): ConversationSession | undefined {
  return RedisChatMessageHistory["sessionIn"](owner);
}

/**
 * The messages of one session in Redis, for everything in LangChain that takes a chat message history.
 *
 * Drop-in for the histories of @langchain/redis and @langchain/community: same options, same methods. Reads and writes
 * are one round trip each, a write is atomic and idempotent by message id, and a configured reducer keeps what the
 * model sees small while the transcript stays whole.
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

  // A method and no static block, which bundlers would keep with all that it needs.
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
  }

  /** The session's id. */
  get sessionId(): string {
    return this.#session.sessionId;
  }

  /** What the model sees, oldest first: the view. The same as the transcript where no reducer is configured. */
  override getMessages(): Promise<BaseMessage[]> {
    return this.#session.readView();
  }

  /** Adds one message. */
  override addMessage(message: BaseMessage): Promise<void> {
    return this.addMessages([message]);
  }

  /**
   * Adds a turn: all messages or none, with no other writer's between them; messages whose id is stored already are not
   * added again.
   *
   * @throws ConflictError if an id is stored with other content; RecordError for a message that cannot be stored;
   *   StoreError.
   */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    await this.append(messages);
  }

  /**
   * Adds a turn as `addMessages` does and returns what was done. With `turnId` a retry is safe also for messages
   * without ids.
   */
  append(messages: readonly BaseMessage[], options?: AppendOptions): Promise<AppendOutcome> {
    return this.#session.append(messages, options);
  }

  /**
   * Every message ever stored, or a page of them, oldest first: `from` is a position (0 is the first message), `limit`
   * a number of messages.
   */
  getTranscript(options?: {
    /** Position of the first message; 0 or more. @default the oldest that is kept */
    readonly from?: number;
    /** Messages at most; 1 or more. @default all */
    readonly limit?: number;
  }): Promise<BaseMessage[]> {
    return this.#session.transcript(options);
  }

  /** The last `count` rounds of the transcript, oldest first. Reads only these. */
  getRounds(count: number): Promise<Round[]> {
    return this.#session.rounds(count);
  }

  /**
   * A page of the transcript for a screen, oldest first; the newest by default. Positions do not move while others
   * write. One round trip, whatever the length of the session.
   *
   * @throws ConfigurationError; ConflictError `unknown_message` if no message has the id `around`; StoreError.
   */
  getPage(options: PageOptions = {}): Promise<MessagePage> {
    return readMessagePage(this.#session, options);
  }

  /** Figures of the session: messages, rounds, tokens, times. One round trip that reads no message. */
  stats(): Promise<HistoryStats> {
    return readHistoryStats(this.#session);
  }

  /** The last 100 reductions, oldest first: when the view became smaller, and from where it began then. */
  getReductions(): Promise<StoredReduction[]> {
    return readLastReductions(this.#session);
  }

  /**
   * Runs the reducer now and stores the smaller view; the transcript stays.
   *
   * @throws ConfigurationError without a reducer; ConflictError `stale` while another process reduces the session, or
   *   if others kept changing the view; what the reducer throws.
   */
  reduceView(config?: RunnableConfig): Promise<ReductionOutcome> {
    return this.#session.reduceView(config);
  }

  /**
   * Removes the message and everything after it, from the transcript too.
   *
   * @throws ConflictError `unknown_message` if it is not stored.
   */
  rewind(messageId: string): Promise<void> {
    return this.#session.rewind(messageId);
  }

  /**
   * Replaces the message and everything after it, in one step: an edit or a new answer. An edited message may keep its
   * id. Everything else of the session stays, also where its first message is replaced, and where the write is refused.
   * One read of the end of the log, and one write.
   *
   * @throws ConflictError `unknown_message` if it is not stored; `stale` if others kept writing; what `append` throws.
   */
  replaceFrom(
    messageId: string,
    messages: readonly BaseMessage[],
    options: Omit<AppendOptions, "turn"> = {},
  ): Promise<AppendOutcome> {
    const write: Replacement["write"] = (turnOptions) => writeTurn(this, messages, turnOptions);
    return replaceFrom({ session: this.#session, messageId, messages, options, write });
  }

  /**
   * Copies the session, or its first `at` messages, under a new id, and returns its history. The copy appears at once
   * when it is complete; it is of one moment, whatever others write meanwhile. From the view's start on it has the same
   * view; an earlier copy shows all of its messages, and the next write reduces it. Takes a few round trips for every
   * 500 messages; a call that failed goes on where it stopped.
   *
   * @throws ConflictError `exists` if there is a session of that id; `unknown_session` if this one does not exist;
   *   `position` if it has fewer than `at` messages, or discarded later ones; `stale` if others kept removing messages
   *   from it.
   */
  async fork(newSessionId: string, options: ForkOptions = {}): Promise<RedisChatMessageHistory> {
    const { ref, context } = this.#session;
    await forkSession(this.#session, newSessionId, options);
    const owner = ref.owner === undefined ? {} : { owner: options.owner ?? ref.owner };
    return new RedisChatMessageHistory(optionsFor({ id: newSessionId, ...owner }, context));
  }

  /**
   * Repairs a session that lost a part in Redis (evicted or deleted keys): everything that is kept about the
   * log is derived from the log. Owner, title and metadata come back from what is left, or from the owner's list. Where
   * nothing says whose the session is, `owner` does; a history that is bound to an owner cannot take such a session. An
   * encrypted record that was changed in Redis stays, and is reported (`record_skipped`): reads that reach it fail.
   *
   * @throws StoreError `damaged` where the owner's name is lost; ConflictError `other_owner`.
   */
  rebuild(
    options: {
      /** Whose the session is. */
      readonly owner?: string;
    } = {},
  ): Promise<void> {
    return this.#session.rebuild(options);
  }

  /** Forgets the session: messages, view and side data. */
  override clear(): Promise<void> {
    return this.#session.clear();
  }

  /** Waits for background reductions and closes the connection, if this history opened one. */
  async close(): Promise<void> {
    if (this.#ownsContext) {
      await drainContext(this.#session.context);
      await (this.#session.context.ownsStore ? this.#session.context.store.close?.() : undefined);
    }
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Options for a history that shares the context of a memory instead of making its own. */
export function optionsFor(caller: Omit<SessionRef, "hold">, context: MemoryContext): RedisChatMessageHistoryOptions {
  return new SessionOptions(new ConversationSession(caller, context)) as unknown as RedisChatMessageHistoryOptions;
}

/** The methods of a history that write what it is given. */
type Writer = Pick<RedisChatMessageHistory, "append" | "addMessages">;

/**
 * The session behind a history, for features that write no messages.
 *
 * @throws ConfigurationError `history` for an object that only looks like a history.
 */
export function historySession(owner: string, history: object): ConversationSession {
  const session = sessionIn(history);
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
 * The session behind a history that messages are written to, always by the history's own `append`, which a subclass may
 * override.
 *
 * @throws ConfigurationError `history` for an object that only looks like a history, and for one that overrides
 *   `addMessages` only: what it changes would not be what is stored.
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
