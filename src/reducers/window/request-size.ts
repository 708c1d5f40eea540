import { SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { BoundedMap } from "../../base/bounded-map.js";
import { isRecord } from "../../messages/values.js";
import { estimateCost } from "../../tokens/counters/approximate-counter.js";
import { estimateTokens } from "../../tokens/counters/estimate-tokens.js";
import { countMessages, countOf, countTotal } from "../../tokens/counted-messages.js";
import { toolsCost, type ToolDefinitionLike } from "../../tokens/formulas/tools-cost.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import type { ReducerRequest } from "../chat-history-reducer.js";
import type { WindowSettings } from "./options.js";

/** The size of a request, and the way back from a size to what its messages may take. */
export interface RequestSize {
  /** Tokens of the whole request. */
  readonly tokens: number;
  /** Tokens that its messages may take by the counter, `perRequest` included, so that the request takes `tokens`. */
  messagesWithin(tokens: number): number;
}

/** The size of a request with these messages: system prompt, tools and what is sent beside them are counted. */
export async function requestSize(
  messages: readonly BaseMessage[],
  request: ReducerRequest,
  counter: TokenCounter,
): Promise<RequestSize> {
  const fixed = await fixedTokens(request, counter);
  const estimate = fixed + (await countMessages(counter, messages));
  return { tokens: Math.ceil(estimate), messagesWithin: (tokens) => Math.floor(tokens - fixed) };
}

/** Tokens of what a request holds besides the messages that can be reduced. */
async function fixedTokens(
  { system, tools = [], besides = [] }: ReducerRequest,
  counter: TokenCounter,
): Promise<number> {
  const prompt = system === undefined || system === "" ? 0 : await systemTokens(system, counter);
  return prompt + toolsTokens(tools) + (await countTotal(counter, besides));
}

const maxPrompts = 100;
const prompts = new BoundedMap<string, number>(maxPrompts);

/** By its text: the request's message is a new object each time. */
async function systemTokens(system: string | BaseMessage, counter: TokenCounter): Promise<number> {
  const text = typeof system === "string" ? system : system.content;
  if (typeof text !== "string") {
    return countOf(counter, system as BaseMessage);
  }
  const key = `${counter.id} ${text}`;
  const tokens = prompts.get(key) ?? (await countOf(counter, new SystemMessage(text)));
  prompts.set(key, tokens);
  return tokens;
}

/** Tokens of the parts that options name, at once. */
export function promptTokens({
  systemPrompt = "",
  tools = [],
}: Pick<WindowSettings, "systemPrompt" | "tools">): number {
  return estimateTokens(systemPrompt) + toolsTokens(tools);
}

const toolLists = new WeakMap<readonly unknown[], number>();

/** By the list: an agent gives the same one to each call. */
function toolsTokens(tools: readonly unknown[]): number {
  const known = toolLists.get(tools);
  if (known !== undefined) {
    return known;
  }
  const tokens = estimateCost(toolsCost(tools.filter(isRecord) as unknown as ToolDefinitionLike[], 7));
  toolLists.set(tools, tokens);
  return tokens;
}
