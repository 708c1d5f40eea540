import type { BaseMessage } from "@langchain/core/messages";
import { roleOf } from "../../src/conversation/messages/message.js";
import type { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import { countOf, type TokenCounter } from "../../src/conversation/tokens/counted-messages.js";

/** Costs of a conversation's requests, and counts of the messages that the model saw. */
export interface RequestTotals {
  requests: number;
  /** Tokens of all prompts, and of the calls that wrote summaries. */
  sent: number;
  /** Tokens of `sent` that the request before began with too. */
  cached: number;
  reductions: number;
  prefixBreaks: number;
  /** Messages in the prompts, and those that were said before, each counted once per request. */
  questions: Share;
  toolResults: Share;
}

interface Share {
  seen: number;
  said: number;
}

/** Totals of nothing. */
export function noTotals(): RequestTotals {
  const none = () => ({ seen: 0, said: 0 });
  const counts = { requests: 0, sent: 0, cached: 0, reductions: 0, prefixBreaks: 0 };
  return { ...counts, questions: none(), toolResults: none() };
}

/** Counts what a request takes. */
export interface Counting {
  readonly counter: TokenCounter;
  /** Tokens in front of the messages: the system prompt and the tools. */
  readonly fixed: number;
}

/** The sum of some messages. */
interface Sum {
  readonly tokens: number;
  readonly questions: number;
  readonly toolResults: number;
}

const nothing: Sum = { tokens: 0, questions: 0, toolResults: 0 };

/**
 * A conversation that grows message by message. Its view is reduced before a request, and the smaller view stays, as in
 * a history. Work is linear in the conversation, and in the view for each reduction.
 */
export class SimulatedConversation {
  readonly #reducer: ChatHistoryReducer | undefined;
  readonly #counter: TokenCounter;
  readonly #fixed: number;
  readonly #totals: RequestTotals;
  /** Original messages: neither summaries nor shortened results. */
  readonly #originals = new WeakSet<BaseMessage>();
  #view: BaseMessage[] = [];
  /** Sums of the view, and of the whole conversation. */
  #inView = nothing;
  #said = nothing;
  /** How much of the view the last request sent. */
  #sent: { readonly length: number; readonly tokens: number } | undefined;

  constructor(reducer: ChatHistoryReducer | undefined, { counter, fixed }: Counting, totals: RequestTotals) {
    this.#reducer = reducer;
    this.#counter = counter;
    this.#fixed = fixed;
    this.#totals = totals;
  }

  async add(message: BaseMessage): Promise<void> {
    if (roleOf(message) === "ai") {
      await this.#request();
    }
    this.#originals.add(message);
    const added = await this.#sumOf([message]);
    this.#view.push(message);
    this.#inView = plus(this.#inView, added);
    this.#said = plus(this.#said, added);
  }

  async #request(): Promise<void> {
    const cached = this.#exceedsLimit() ? await this.#reduce() : this.#sent?.tokens;
    const { tokens, questions, toolResults } = this.#inView;
    const totals = this.#totals;
    totals.requests += 1;
    totals.sent += this.#fixed + tokens + this.#counter.perRequest;
    totals.cached += cached === undefined ? 0 : this.#fixed + cached;
    totals.questions.seen += questions;
    totals.questions.said += this.#said.questions;
    totals.toolResults.seen += toolResults;
    totals.toolResults.said += this.#said.toolResults;
    this.#sent = { length: this.#view.length, tokens };
  }

  #exceedsLimit(): boolean {
    const limit = this.#reducer?.viewLimit;
    const { messages = Infinity, tokens = Infinity, fromStart = Infinity } = limit ?? {};
    return this.#view.length > Math.min(messages, fromStart) || this.#inView.tokens + this.#counter.perRequest > tokens;
  }

  /** Reduces the view. Returns the tokens at its beginning that the last request sent too. */
  async #reduce(): Promise<number | undefined> {
    const outcome = await this.#reducer!.reduceWithOutcome([...this.#view]);
    if (!outcome.changed) {
      return this.#sent?.tokens;
    }
    const before = this.#view.slice(0, this.#sent?.length);
    this.#view = [...outcome.messages];
    this.#inView = await this.#sumOf(this.#view);
    this.#totals.reductions += 1;
    if (outcome.summary !== undefined) {
      const { tokens } = await this.#sumOf([...outcome.removed, outcome.summary]);
      this.#totals.sent += tokens;
    }
    if (this.#sent === undefined) {
      return undefined;
    }
    const changed = before.findIndex((message, index) => message !== this.#view[index]);
    const same = changed < 0 ? before.length : changed;
    this.#totals.prefixBreaks += same < before.length ? 1 : 0;
    return (await this.#sumOf(this.#view.slice(0, same))).tokens;
  }

  async #sumOf(messages: readonly BaseMessage[]): Promise<Sum> {
    let [tokens, questions, toolResults] = [0, 0, 0];
    for (const message of messages) {
      const count = countOf(this.#counter, message);
      tokens += typeof count === "number" ? count : await count;
      const role = this.#originals.has(message) ? roleOf(message) : undefined;
      questions += role === "human" ? 1 : 0;
      toolResults += role === "tool" ? 1 : 0;
    }
    return { tokens, questions, toolResults };
  }
}

function plus(a: Sum, b: Sum): Sum {
  return {
    tokens: a.tokens + b.tokens,
    questions: a.questions + b.questions,
    toolResults: a.toolResults + b.toolResults,
  };
}
