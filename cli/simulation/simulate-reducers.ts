import type { BaseMessage } from "@langchain/core/messages";
import { asReducer, type ReducerLike } from "../../src/conversation/reducers/as-reducer.js";
import type { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import { promptTokens } from "../../src/conversation/reducers/window/request-size.js";
import { breather, type TokenCounter } from "../../src/conversation/tokens/counted-messages.js";
import { tiktokenCounter } from "../../src/conversation/tokens/counters/tiktoken-counter.js";
import type { ToolDefinitionLike } from "../../src/conversation/tokens/formulas/tools-cost.js";
import { noTotals, SimulatedConversation, type Counting, type RequestTotals } from "./simulated-conversation.js";

/** A reducer under a name; without a reducer, nothing is ever cut. */
export interface NamedReducer {
  /** The name under which the result is listed. */
  readonly name: string;
  readonly reducer?: ReducerLike | undefined;
}

/** Prices of a prompt token in any unit: `input` if the provider's prompt cache lacks it, `cached` if not. */
export interface PromptPrices {
  readonly input: number;
  readonly cached: number;
}

/** Options of {@link simulateReducers}. */
export interface SimulationOptions {
  /** Counts the prompts' tokens. @default tiktokenCounter() */
  readonly tokenCounter?: TokenCounter | undefined;
  /** @default { input: 1, cached: 0.1 }, which gives `billed` in tokens at full price */
  readonly prices?: PromptPrices | undefined;
  /**
   * System prompt that each request begins with; counted in the figures, but not by reducers, whose own options may
   * name it. @default none
   */
  readonly systemPrompt?: string | undefined;
  /** Tools that each request holds, as `systemPrompt`. @default none */
  readonly tools?: readonly ToolDefinitionLike[] | undefined;
}

/** The figures of one reducer over the conversations. */
export interface ReducerSimulation {
  /** The name that was given. */
  readonly reducer: string;
  /** Requests to the model: AI messages in the conversations. */
  readonly requests: number;
  /** Prompt tokens of all requests, and of the calls that write summaries. */
  readonly sent: number;
  /** Tokens of `sent` in a common prefix with the previous request, which a provider can have cached. */
  readonly cached: number;
  /** Price of `sent`. */
  readonly billed: number;
  /** Price of `sent` if no prompt cache had any of it. */
  readonly billedUncached: number;
  /** How often the view became smaller. */
  readonly reductions: number;
  /** Requests that do not begin with the whole previous request. */
  readonly prefixBreaks: number;
  /**
   * Over all requests, the share of the user messages so far that the model saw, from 0 to 1; 1 if there are none.
   */
  readonly questionsSeen: number;
  /** The same for whole tool results: a shortened one counts as not seen. */
  readonly toolResultsSeen: number;
}

/**
 * Replays conversations through reducers and computes for each the prompts, their price, and the share of the
 * conversation that the model would have seen. Calls no model unless a reducer does, and writes nothing.
 *
 * A request is one AI message; its prompt is all messages before it. The view is reduced before a request and stays
 * reduced, as in a history. A summary counts as a call whose prompt is the messages that it replaces, and as many
 * tokens as it has; none of them is cached. Providers cache only prompts of a minimum length and for a limited time:
 * `cached` is an upper bound.
 *
 * Work is linear in the conversations, and in the view for each reduction.
 *
 * @returns one result for each reducer, in their order.
 * @throws errors of a reducer.
 */
export async function simulateReducers(
  conversations: readonly (readonly BaseMessage[])[],
  reducers: readonly NamedReducer[],
  { tokenCounter: counter = tiktokenCounter(), prices = { input: 1, cached: 0.1 }, ...parts }: SimulationOptions = {},
): Promise<ReducerSimulation[]> {
  const fixed = promptTokens({ systemPrompt: parts.systemPrompt, tools: [...(parts.tools ?? [])] });
  const results: ReducerSimulation[] = [];
  for (const { name, reducer } of reducers) {
    const played = reducer === undefined ? undefined : asReducer(reducer);
    results.push(resultOf(name, await play(conversations, { reducer: played, counter, fixed }), prices));
  }
  return results;
}

async function play(
  conversations: readonly (readonly BaseMessage[])[],
  { reducer, ...counting }: Counting & { readonly reducer: ChatHistoryReducer | undefined },
): Promise<RequestTotals> {
  const totals = noTotals();
  const breathe = breather();
  for (const messages of conversations) {
    const conversation = new SimulatedConversation(reducer, counting, totals);
    for (const message of messages) {
      await conversation.add(message);
      await breathe();
    }
  }
  return totals;
}

function resultOf(name: string, totals: RequestTotals, { input, cached }: PromptPrices): ReducerSimulation {
  const { questions, toolResults, ...counts } = totals;
  return {
    reducer: name,
    ...counts,
    billed: (counts.sent - counts.cached) * input + counts.cached * cached,
    billedUncached: counts.sent * input,
    questionsSeen: share(questions),
    toolResultsSeen: share(toolResults),
  };
}

function share({ seen, said }: RequestTotals["questions"]): number {
  return said === 0 ? 1 : seen / said;
}
