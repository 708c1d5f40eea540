import type { BaseMessage } from "@langchain/core/messages";
import type { ReducerLike, TokenCounter } from "langchain-redis-memory";
import {
  simulateReducers,
  type NamedReducer,
  type SimulationOptions,
} from "../../../cli/simulation/simulate-reducers.js";
import { isSystem } from "../setting/recorded-conversations.js";

/** What all requests of some conversations cost, and what they showed to the model. */
export interface Bill {
  readonly sent: number;
  readonly cached: number;
  readonly reductions: number;
  /** Requests that do not begin with the whole one before. */
  readonly prefixBreaks: number;
  /** Shares from 0 to 1 of what the user had said, and of the whole tool results that there were, at each request. */
  readonly questionsSeen: number;
  readonly toolResultsSeen: number;
}

/** What each request holds besides its messages. */
export type RequestParts = Pick<SimulationOptions, "systemPrompt" | "tools">;

/** A way to keep prompts within a budget; without a reducer, nothing is cut. */
export interface Policy {
  readonly name: string;
  readonly reducerFor: (budget: number) => ReducerLike | undefined;
}

/** A conversation and the tokens that its prompts may have. */
export interface Budgeted {
  readonly messages: readonly BaseMessage[];
  readonly budget: number;
}

/** Gives each conversation a budget: its system messages, and a share of all its other tokens. */
export async function withBudgets(
  conversations: readonly (readonly BaseMessage[])[],
  { share, counter }: { readonly share: number; readonly counter: TokenCounter },
): Promise<Budgeted[]> {
  return Promise.all(
    conversations.map(async (messages) => {
      const count = (part: readonly BaseMessage[]) => tokensOf(part, counter);
      const systems = await count(messages.filter(isSystem));
      const rest = await count(messages.filter((message) => !isSystem(message)));
      return { messages, budget: Math.ceil(counter.perRequest + systems + share * rest) };
    }),
  );
}

/** Tokens of messages, without what a request costs besides. */
export async function tokensOf(messages: readonly BaseMessage[], counter: TokenCounter): Promise<number> {
  const counts = await Promise.all(messages.map((message) => counter.countMessage(message)));
  return counts.reduce((sum, tokens) => sum + tokens, 0);
}

/** Replays the conversations under a policy. */
export async function billOf(
  conversations: readonly Budgeted[],
  {
    policy,
    counter,
    request,
  }: { readonly policy: Policy; readonly counter: TokenCounter; readonly request?: RequestParts },
): Promise<Bill> {
  const total = { sent: 0, cached: 0, reductions: 0, prefixBreaks: 0 };
  const [questions, toolResults] = [
    { seen: 0, said: 0 },
    { seen: 0, said: 0 },
  ];
  for (const { messages, budget } of conversations) {
    const reducer = policy.reducerFor(budget);
    // The built package's class, where the simulation names that of the source.
    const candidate = { name: policy.name, reducer } as unknown as NamedReducer;
    const [result] = await simulateReducers([messages], [candidate], { tokenCounter: counter, ...request });
    total.sent += result!.sent;
    total.cached += result!.cached;
    total.reductions += result!.reductions;
    total.prefixBreaks += result!.prefixBreaks;
    add(questions, result!.questionsSeen, saidBeforeRequests(messages, "human"));
    add(toolResults, result!.toolResultsSeen, saidBeforeRequests(messages, "tool"));
  }
  return { ...total, questionsSeen: shareOf(questions), toolResultsSeen: shareOf(toolResults) };
}

/** Prompt tokens at the price of tokens that the provider had not cached. */
export function billed({ sent, cached }: Bill, cachedPrice: number): number {
  return sent - cached + cachedPrice * cached;
}

function add(total: { seen: number; said: number }, share: number, said: number): void {
  total.seen += share * said;
  total.said += said;
}

function shareOf({ seen, said }: { readonly seen: number; readonly said: number }): number {
  return said === 0 ? 1 : seen / said;
}

/** Messages of a type before each AI message, summed up: that of which a simulation gives shares. */
function saidBeforeRequests(messages: readonly BaseMessage[], type: string): number {
  let [soFar, total] = [0, 0];
  for (const message of messages) {
    total += message.getType() === "ai" ? soFar : 0;
    soFar += message.getType() === type ? 1 : 0;
  }
  return total;
}
