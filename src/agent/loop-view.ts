import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { messageIdOf } from "../codec/message-ids.js";
import { report, type ViewSize } from "../base/events.js";
import { loadedOnce } from "../base/loaded-once.js";
import type { ConversationSession } from "../session/conversation-session.js";
import type { WindowSource } from "../session/memory-context.js";
import { refuseSplitSteps } from "../session/plan-commit.js";
import { tracedReduction } from "../session/reduction-trace.js";
import type { ChatHistoryReducer, ReducerRequest } from "../reducers/chat-history-reducer.js";
import { limitAt } from "../reducers/reduce-when.js";
import type { ViewLimit } from "../store/session-writes.js";
import type { MeasuredRequest } from "../reducers/window/context-window.js";
import { fromCompaction } from "../messages/calls.js";
import { countMessages } from "../tokens/counted-messages.js";
import type { FittedMessages } from "../turns/fit-window.js";
import { idsOf } from "../turns/open-turn.js";

const fitting = loadedOnce(() => import("../turns/fit-window.js"));

/** A request, and the reducer that fits it into its model's window. */
interface RequestToFit {
  readonly source: WindowSource;
  readonly request: ReducerRequest;
}

/** A list for a request, and the messages added to it by another middleware. */
export interface SentView {
  readonly messages: readonly { readonly message: BaseMessage; readonly isOfTurn: boolean }[];
  readonly extra: readonly BaseMessage[];
}

/**
 * The model's list during a run: the view and the turn, reduced whenever it exceeds the reducer's hard limit, with
 * `reduceWhen: "always"` its limit, so that a long loop stays within it.
 */
export class LoopView {
  readonly #session: ConversationSession;
  /** Latest version of each message of the turn: another middleware may change it. */
  readonly #newest = new Map<string, BaseMessage>();
  #list: BaseMessage[];
  #before: ViewSize | undefined;
  #measured: MeasuredRequest | undefined;
  /** The form in which messages of the turn are read. */
  #form: (message: BaseMessage) => BaseMessage = (message) => message;

  constructor(session: ConversationSession, before: readonly BaseMessage[]) {
    this.#session = session;
    this.#list = [...before];
  }

  /** The current list. */
  get messages(): readonly BaseMessage[] {
    return this.#list;
  }

  /** Size before the run's first reduction; undefined if there was none. */
  get reducedFrom(): ViewSize | undefined {
    return this.#before;
  }

  /** True for the latest version of a message of the turn. */
  isOfTurn(message: BaseMessage): boolean {
    return this.#newest.get(messageIdOf(message)) === message;
  }

  /** True for the id of a message that is or was of the turn. */
  hasSeen(id: string | undefined): boolean {
    return id !== undefined && this.#newest.has(id);
  }

  /** Begins again behind another list; `form` gives each message of the turn, the same object for the same message. */
  restart(before: readonly BaseMessage[], form: (message: BaseMessage) => BaseMessage): void {
    this.#list = [...before];
    this.#form = form;
    this.#newest.clear();
  }

  /** Updates the turn's messages: appends new ones, replaces changed ones. */
  update(turn: readonly BaseMessage[]): void {
    const renewed = new Map<BaseMessage, BaseMessage>();
    for (const message of turn.map((each) => this.#form(each))) {
      const id = messageIdOf(message);
      const known = this.#newest.get(id);
      if (known === undefined) {
        this.#list.push(message);
      } else if (known !== message) {
        renewed.set(known, message);
      }
      this.#newest.set(id, message);
    }
    if (renewed.size > 0) {
      this.#list = this.#list.map((message) => renewed.get(message) ?? message);
    }
    this.#list = fromCompaction(this.#list, (message) => message) as BaseMessage[];
  }

  /**
   * The list, or another one of its messages, with the changes of an earlier middleware: replaced, removed and appended
   * messages.
   */
  asSent(state: readonly BaseMessage[], sent: readonly BaseMessage[], given = this.messages): SentView {
    const list = given.map((message) => ({ message, isOfTurn: this.isOfTurn(message) }));
    if (sent === state) {
      return { messages: list, extra: [] };
    }
    const inState = new Set(idsOf(state));
    const byId = new Map(sent.map((message) => [message.id, message]));
    const messages = list.flatMap((entry) => {
      const { id } = entry.message;
      if (!entry.isOfTurn || id === undefined || !inState.has(id)) {
        return [entry];
      }
      const changed = byId.get(id);
      return changed === undefined ? [] : [{ message: changed, isOfTurn: true }];
    });
    return { messages, extra: sent.filter(({ id }) => id === undefined || !inState.has(id)) };
  }

  /**
   * Reduces the list if it exceeds the limit; with a reducer that knows windows, that of the request. A failure, or a
   * result that splits a step, is reported and changes nothing, as after a write.
   */
  async reduce(config: RunnableConfig | undefined, toFit?: RequestToFit): Promise<void> {
    const { sessionId, context } = this.#session;
    const { reducer, reduceWhen, onEvent, window } = context;
    if (window !== undefined) {
      return toFit && this.#fit(toFit, config);
    }
    if (reducer === undefined || reduceWhen === "never") {
      return;
    }
    try {
      const limit = limitAt(reducer, { reduceWhen, last: this.#list.at(-1) });
      if (!(await exceedsLimit(reducer, this.#list, limit))) {
        return;
      }
      const outcome = await tracedReduction(reducer, this.#list, config);
      if (outcome.changed) {
        refuseSplitSteps(this.#list, outcome.messages);
        this.#list = [...outcome.messages];
        this.#before ??= outcome.before;
      } else if (outcome.error !== undefined) {
        report(onEvent, { type: "reduction_failed", sessionId, error: outcome.error });
      }
    } catch (error) {
      report(onEvent, { type: "reduction_failed", sessionId, error });
    }
  }

  /** Keeps with the model's answer what its request was thought to take. */
  async answered(answer: BaseMessage): Promise<void> {
    if (this.#measured !== undefined) {
      (await fitting()).noteAnswer(answer, this.#measured);
    }
  }

  async #fit({ source, request }: RequestToFit, trace: RunnableConfig | undefined): Promise<void> {
    const { fitRequest } = await fitting();
    const toFit = { window: await source.load(), messages: this.#list, request, trace };
    this.#take(await fitRequest(this.#session, toFit));
  }

  /** Makes the list smaller if its request was refused as too long; false for another error, or if nothing can go. */
  async cutFor(error: unknown, { source, request }: RequestToFit, trace: RunnableConfig | undefined): Promise<boolean> {
    const { fitRefused } = await fitting();
    const fitted = await fitRefused(this.#session, { source, messages: this.#list, request, trace, error });
    if (fitted !== undefined) {
      this.#take(fitted);
    }
    return fitted !== undefined;
  }

  #take({ messages, reduction, measured }: FittedMessages): void {
    this.#measured = measured;
    if (reduction !== undefined) {
      this.#list = [...messages];
      this.#before ??= reduction.before;
    }
  }
}

/** True if the list exceeds the limit; an empty limit is never exceeded. */
export async function exceedsLimit(
  { viewLimit, tokenCounter }: ChatHistoryReducer,
  messages: readonly BaseMessage[],
  limit: ViewLimit = viewLimit,
): Promise<boolean> {
  const { messages: inAll = Infinity, fromStart = Infinity, tokens } = limit;
  if (Object.keys(limit).length === 0) {
    return false;
  }
  // A run's list has no start: count all of it as new since the last reduction.
  if (messages.length > Math.min(inAll, fromStart)) {
    return true;
  }
  if (tokens === undefined || tokenCounter === undefined) {
    return inAll === Infinity && fromStart === Infinity;
  }
  return (await countMessages(tokenCounter, messages)) > tokens;
}
