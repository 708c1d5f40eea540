import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { messageIdOf } from "../codec/message-ids.js";
import { report } from "../base/events.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { refuseSplitSteps } from "../session/plan-commit.js";
import { tracedReduction } from "../session/reduction-trace.js";
import type { ChatHistoryReducer } from "../reducers/chat-history-reducer.js";
import type { ViewSize } from "../reducers/reduction-outcome.js";
import { countMessages } from "../tokens/counted-messages.js";
import { idsOf } from "./agent-state.js";

/** A list for a request, and what another middleware added to it. */
interface SentView {
  readonly messages: readonly { readonly message: BaseMessage; readonly isOfTurn: boolean }[];
  readonly extra: readonly BaseMessage[];
}

/**
 * What the model of a run sees of the conversation: the view and the turn, reduced as often as the reducer has
 * something to do, so that a long loop stays within the reducer's limit.
 */
export class LoopView {
  readonly #session: ConversationSession;
  /** The newest version of each message of the turn: another middleware may change it. */
  readonly #newest = new Map<string, BaseMessage>();
  #list: BaseMessage[];
  #before: ViewSize | undefined;

  constructor(session: ConversationSession, before: readonly BaseMessage[]) {
    this.#session = session;
    this.#list = [...before];
  }

  /** The list as it is now. */
  get messages(): readonly BaseMessage[] {
    return this.#list;
  }

  /** The size before the run's first reduction; undefined where there was none. */
  get reducedFrom(): ViewSize | undefined {
    return this.#before;
  }

  /** True for a message of the turn, in its newest version. */
  isOfTurn(message: BaseMessage): boolean {
    return this.#newest.get(messageIdOf(message)) === message;
  }

  /** True for the id of a message that is or was of the turn. */
  hasSeen(id: string | undefined): boolean {
    return id !== undefined && this.#newest.has(id);
  }

  /** Takes the turn's messages as they are now: new ones go to the end, changed ones take the old ones' places. */
  update(turn: readonly BaseMessage[]): void {
    const renewed = new Map<BaseMessage, BaseMessage>();
    for (const message of turn) {
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
  }

  /** The list with what a middleware before this one made of the request: changed, left out, added at the end. */
  asSent(state: readonly BaseMessage[], sent: readonly BaseMessage[]): SentView {
    const list = this.#list.map((message) => ({ message, isOfTurn: this.isOfTurn(message) }));
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
   * Reduces the list where it exceeds the limit. A failure, or a result that splits a step, is reported and changes
   * nothing, as after a write.
   */
  async reduce(config: RunnableConfig | undefined): Promise<void> {
    const { sessionId, context } = this.#session;
    const { reducer, autoReduce, onEvent } = context;
    if (reducer === undefined || autoReduce === false) {
      return;
    }
    try {
      if (!(await exceedsLimit(reducer, this.#list))) {
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
}

/** True where a reducer has something to do. */
export async function exceedsLimit(reducer: ChatHistoryReducer, messages: readonly BaseMessage[]): Promise<boolean> {
  const { viewLimit, tokenCounter } = reducer;
  const { messages: inAll = Infinity, fromStart = Infinity, tokens } = viewLimit;
  // The list of a run has no start: all of it may have come since the last reduction.
  if (messages.length > Math.min(inAll, fromStart)) {
    return true;
  }
  if (tokens === undefined || tokenCounter === undefined) {
    return inAll === Infinity && fromStart === Infinity;
  }
  return (await countMessages(tokenCounter, messages)) > tokens;
}
