import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError } from "../../../base/errors.js";
import { lazy, parseOptions } from "../../../base/options.js";
import { asReducer, type ReducerLike } from "../as-reducer.js";
import { messagesOf, type ChatHistoryReducer } from "../chat-history-reducer.js";
import { counterField } from "../reduction-trigger.js";
import { breather } from "../../tokens/counted-messages.js";
import { tiktokenCounter } from "../../tokens/counters/tiktoken-counter.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { toolListSchema, type ToolDefinitionLike } from "../../tokens/formulas/tools-cost.js";
import { promptTokens } from "../window/request-size.js";
import { noTotals, SimulatedConversation, type Counting, type RequestTotals } from "./simulated-conversation.js";

/** A reducer under a name; without a reducer, nothing is ever cut. */
export interface NamedReducer {
  /** The name under which the result is listed. */
  readonly name: string;
  /** The reducer to play. @default none, so that every request holds all messages */
  readonly reducer?: ReducerLike;
}

/**
 * Prices of a prompt token in any unit: `input` if the provider's prompt cache lacks it, `cached` if not.
 * @example
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { ChatHistoryTokenReducer, simulateReducers, type PromptPrices } from "langchain-redis-memory";
 *
 * const prices: PromptPrices = { input: 2.5, cached: 1.25 }; // dollars for a million tokens
 * const conversations = [[new HumanMessage("Hi"), new AIMessage("Hello!")]]; // yours
 * const reducer = new ChatHistoryTokenReducer({ maxTokens: 8_000 });
 * const [result] = await simulateReducers(conversations, [reducer], { prices });
 * console.log(`${result!.billed / 1_000_000} dollars`);
 */
export interface PromptPrices {
  /** Price of a token that is not in the prompt cache; 0 or more. */
  readonly input: number;
  /** Price of a token that is in the prompt cache; 0 or more. */
  readonly cached: number;
}

/** Options of {@link simulateReducers}. */
export interface SimulationOptions {
  /** Counts the prompts' tokens. @default tiktokenCounter() */
  readonly tokenCounter?: TokenCounter;
  /** @default { input: 1, cached: 0.1 }, which gives `billed` in tokens at full price */
  readonly prices?: PromptPrices;
  /**
   * System prompt that each request begins with; counted in the figures, but not by reducers, whose own options may
   * name it. @default none
   */
  readonly systemPrompt?: string;
  /** Tools that each request holds, as `systemPrompt`. @default none */
  readonly tools?: readonly ToolDefinitionLike[];
}

/** The figures of one reducer over the conversations. */
export interface ReducerSimulation {
  /** The name that was given, or the reducer's class. */
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

const owner = "simulateReducers";
const price = () => z.number("must be a number of 0 or more").check(z.minimum(0, "must be a number of 0 or more"));
const optionsSchema = lazy(() =>
  z.strictObject({
    ...counterField(),
    prices: z.optional(z.strictObject({ input: price(), cached: price() })),
    systemPrompt: z.optional(z.string("must be a string")),
    tools: toolListSchema(),
  }),
);

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
 * @throws ConfigurationError for an invalid conversation, reducer or option; errors of a reducer.
 * @example
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { ChatHistoryTokenReducer, simulateReducers } from "langchain-redis-memory";
 *
 * const conversations = [[new HumanMessage("Hi"), new AIMessage("Hello!")]]; // yours
 * const reducers = [{ name: "never cut" }, new ChatHistoryTokenReducer({ maxTokens: 8_000 })];
 * const results = await simulateReducers(conversations, reducers);
 */
export async function simulateReducers(
  conversations: readonly (readonly BaseMessage[])[],
  reducers: readonly (ReducerLike | NamedReducer)[],
  options: SimulationOptions = {},
): Promise<ReducerSimulation[]> {
  const given = parseOptions(owner, optionsSchema(), options);
  const { tokenCounter = tiktokenCounter(), prices = { input: 1, cached: 0.1 } } = given;
  const fixed = promptTokens(given);
  const all = listOf(conversations, "conversations").map((messages) => messagesOf(messages as BaseMessage[]));
  const candidates = listOf(reducers, "reducers").map(candidate);
  const results: ReducerSimulation[] = [];
  for (const { name, reducer } of candidates) {
    results.push(resultOf(name, await play(all, { reducer, counter: tokenCounter, fixed }), prices));
  }
  return results;
}

async function play(
  conversations: readonly BaseMessage[][],
  { reducer, ...counting }: Counting & Pick<Candidate, "reducer">,
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

function listOf<T>(value: readonly T[], option: string): readonly T[] {
  if (Array.isArray(value)) {
    return value as readonly T[];
  }
  throw new ConfigurationError(option, `${owner}: "${option}" must be an array.`);
}

/** A reducer to play, under its name. */
interface Candidate {
  readonly name: string;
  readonly reducer: ChatHistoryReducer | undefined;
}

function candidate(given: ReducerLike | NamedReducer, index: number): Candidate {
  if (isNamed(given)) {
    return { name: given.name, reducer: given.reducer === undefined ? undefined : asReducer(given.reducer) };
  }
  if (typeof given !== "function" && typeof (given as { invoke?: unknown } | null)?.invoke !== "function") {
    throw new ConfigurationError(
      "reducers",
      `${owner}: item ${index} of "reducers" must be a reducer, or { name, reducer } with a non-empty name.`,
    );
  }
  const reducer = asReducer(given);
  return { name: reducer.getName(), reducer };
}

function isNamed(given: ReducerLike | NamedReducer | null): given is NamedReducer {
  const isPlain = typeof given === "object" && given !== null && !("invoke" in given);
  return isPlain && typeof given.name === "string" && given.name !== "";
}
