import { SystemMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { BoundedMap } from "../../base/bounded-map.js";
import { isRecord } from "../../messages/values.js";
import { estimateCost } from "../../tokens/counters/approximate-counter.js";
import { estimateTokens } from "../../tokens/counters/estimate-tokens.js";
import { countMessages, countOf, countTotal, knownCount } from "../../tokens/counted-messages.js";
import { toolsCost, type ToolDefinitionLike } from "../../tokens/formulas/tools-cost.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import type { ReducerRequest } from "../chat-history-reducer.js";
import type { WindowSettings } from "./options.js";

/** The size of a request, and the way back from a size to what its messages may take. */
export interface RequestSize {
  /** Tokens of the whole request. */
  readonly tokens: number;
  /** The same by the counter alone, for the request's answer. */
  readonly estimate: number;
  /** True if the provider's count of an earlier request is the base. */
  readonly isAnchored: boolean;
  /** Tokens that its messages may take by the counter, `perRequest` included, so that the request takes `tokens`. */
  messagesWithin(tokens: number): number;
}

/** A way to count: the counter, and the name under which an answer keeps what its request was thought to take. */
export interface Counting {
  readonly counter: TokenCounter;
  /** Undefined where the model is not known: what one model billed says nothing of another. */
  readonly askedAs: string | undefined;
  /** True if the counter sees all parts of the request, so that the provider's tokenizer shows in the ratio. */
  readonly isWhole: boolean;
}

/**
 * The size of a request with these messages: system prompt, tools and what is sent beside them are counted. Behind an
 * answer of the same model, the provider's own count of its request is the base, and only the difference is estimated.
 */
export async function requestSize(
  messages: readonly BaseMessage[],
  request: ReducerRequest,
  counting: Counting,
): Promise<RequestSize> {
  const { counter } = counting;
  const fixed = await fixedTokens(request, counter);
  const estimate = fixed + (await countMessages(counter, messages));
  const anchor = anchorIn(messages, counting);
  const { billed, thought, ratio } = anchor ?? { billed: 0, thought: 0, ratio: 1 };
  return {
    tokens: Math.ceil(billed + ratio * (estimate - thought)),
    estimate: Math.ceil(estimate),
    isAnchored: anchor !== undefined,
    messagesWithin: (tokens) => Math.floor(thought + (tokens - billed) / ratio - fixed),
  };
}

/** A request whose size the provider told with its answer. */
interface Anchor {
  readonly billed: number;
  readonly thought: number;
  /** Tokens of the provider for one of the counter. */
  readonly ratio: number;
}

/** A lower ratio is the bill of another list, such as one that the provider compacted. */
const smallestRatio = 0.5;
/** From here on the request held parts that the counter did not see. */
const largestRatio = 3;

function anchorIn(messages: readonly BaseMessage[], { askedAs, isWhole }: Counting): Anchor | undefined {
  for (let index = askedAs === undefined ? -1 : messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index] as AIMessage;
    const thought = knownCount(message, askedAs!);
    const billed = message.usage_metadata?.input_tokens;
    if (typeof thought === "number" && typeof billed === "number" && billed > 0) {
      const ratio = billed / thought;
      return ratio >= smallestRatio
        ? { billed, thought, ratio: isWhole && ratio <= largestRatio ? ratio : 1 }
        : undefined;
    }
  }
  return undefined;
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
