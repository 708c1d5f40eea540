import type { BaseMessage } from "@langchain/core/messages";
import { cutByTokens } from "../messages/cut-by-tokens.js";
import type { NoCut } from "../messages/cut-by-count.js";
import { roleOf } from "../messages/roles.js";
import type { Sections } from "../messages/sections.js";
import { findBoundaries } from "../messages/steps.js";
import { countEach, countMessages } from "../tokens/counted-messages.js";
import { clipToolResults } from "./clip-tool-results.js";
import type { TokenBudget } from "./options.js";

/** Returns the indexes of the messages that stay within a budget; keeps `reserve` tokens free for another message. */
export async function cutToBudget(
  messages: readonly BaseMessage[],
  {
    sections,
    budget,
    reserve,
  }: { readonly sections: Sections; readonly budget: TokenBudget; readonly reserve?: number },
): Promise<number[] | NoCut> {
  const { counter, maxTokens, targetTokens } = budget;
  const tokens = await countEach(counter, messages);
  return cutByTokens(messages, sections, {
    tokens,
    perRequest: counter.perRequest,
    maxTokens,
    targetTokens,
    ...(reserve !== undefined && { reserve }),
  });
}

/** Clips the tool results of the newest step as far as the budget requires; leaves `pinned` messages alone. */
export async function clipToBudget(
  messages: readonly BaseMessage[],
  { budget, pinned = new Set() }: { readonly budget: TokenBudget; readonly pinned?: ReadonlySet<BaseMessage> },
): Promise<BaseMessage[]> {
  const excess = (await countMessages(budget.counter, messages)) - budget.maxTokens;
  if (excess <= 0) {
    return [...messages];
  }
  const rest = [...messages.keys()].filter(
    (index) => !["system", "summary"].includes(roleOf(messages[index]!)) && !pinned.has(messages[index]!),
  );
  const newestStep = findBoundaries(rest.map((index) => messages[index]!)).lastIndexOf(1, rest.length - 1);
  const indexes = rest.slice(Math.max(0, newestStep)).filter((index) => roleOf(messages[index]!) === "tool");
  return clipToolResults(messages, { indexes, excess, counter: budget.counter });
}
