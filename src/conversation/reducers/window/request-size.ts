import { SystemMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { BoundedMap } from "../../../base/bounds.js";
import { shortHash } from "../../../base/ids.js";
import { compactionIn } from "../../messages/content.js";
import { isRecord } from "../../messages/message.js";
import { estimateCost, estimateTokens } from "../../tokens/counters/approximate-counter.js";
import { countMessages, countOf, countTotal, knownCount, type TokenCounter } from "../../tokens/counted-messages.js";
import { toolsCost, type ToolDefinitionLike } from "../../tokens/formulas/tools-cost.js";
import type { ModelWindow } from "../../structure/seam/profile-of.js";
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

/** A name under which answers keep what their requests were thought to take. */
export interface AskedName {
  readonly askedAs: string;
  /** True if the counter saw all parts of the requests, so that the provider's tokenizer shows in the ratio. */
  readonly isWhole: boolean;
  /** True if what such a request held beside its messages counts as sent again, in place of what the request tells. */
  readonly isRepeated: boolean;
}

/** A way to count: the counter, and the answers to go by. */
export interface Counting {
  readonly counter: TokenCounter;
  /** Empty where the model is not known: what one model billed says nothing of another. */
  readonly names: readonly AskedName[];
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
  const { counter, names } = counting;
  const anchor = anchorIn(messages, names);
  const fixed =
    anchor?.name.isRepeated === true
      ? Math.max(0, anchor.thought - (await countMessages(counter, messages.slice(0, anchor.index))))
      : await fixedTokens(request, counter);
  const estimate = fixed + (await countMessages(counter, messages));
  const { ratio, unseen } = anchor ?? { ratio: 1, unseen: 0 };
  return {
    tokens: Math.max(0, Math.ceil(rounded(ratio * estimate + unseen))),
    estimate: Math.ceil(estimate),
    isAnchored: anchor !== undefined,
    messagesWithin: (tokens) => Math.floor(rounded((tokens - unseen) / ratio - fixed)),
  };
}

/**
 * The name under which answers of a model keep what their requests were thought to take. Each answer is stored with it,
 * so it is a hash: name and count add at most 40 bytes to a record.
 */
export function askedName(model: string, { counter, isWhole }: NameParts): string {
  return `asked:${shortHash(`${isWhole ? "all" : "part"}:${counter.id}:${model}`, 8)}`;
}

interface NameParts extends Pick<AskedName, "isWhole"> {
  readonly counter: TokenCounter;
}

/** The share of a window that is left for the answer where nothing says more, and the most that `maxTokens` takes. */
const answerShare = 0.1;
const maxAnswerShare = 0.5;

/** The parts of a window that a request may not take. */
export interface RoomOptions {
  /** Limits that the model tells. */
  readonly limits?: ModelWindow | undefined;
  /** Tokens for the answer. @default by the model */
  readonly reserveForAnswer?: number | undefined;
  /** Share that stays empty, because sizes are estimates. */
  readonly safetyMargin: number;
}

/** Tokens that a request may take of a window. */
export function roomIn(window: number, { limits, reserveForAnswer, safetyMargin }: RoomOptions): number {
  const share = Math.min(limits?.maxOutputTokens ?? Infinity, answerShare * window);
  const wanted = limits?.maxTokens === undefined ? share : Math.min(limits.maxTokens, maxAnswerShare * window);
  return Math.max(1, Math.floor(rounded((window - (reserveForAnswer ?? wanted)) * (1 - safetyMargin))));
}

/** The number that was meant by one such as 98.99999999999999, the outcome of 110 * (1 - 0.1). */
const rounded = (tokens: number) => Number(tokens.toFixed(6));

/** A request whose size the provider told with its answer. */
interface Anchor {
  readonly index: number;
  readonly name: AskedName;
  readonly thought: number;
  /** Tokens of the provider for one of the counter. */
  readonly ratio: number;
  /** Tokens of parts that the counter did not see. */
  readonly unseen: number;
}

/** A lower ratio is the bill of another list, such as one that the provider compacted. */
const smallestRatio = 0.5;
/** From here on the request held parts that the counter did not see. */
const largestRatio = 3;

/** The newest answer that tells what its request took. */
function anchorIn(messages: readonly BaseMessage[], names: readonly AskedName[]): Anchor | undefined {
  for (let index = names.length === 0 ? -1 : messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index] as AIMessage;
    if (compactionIn(message) !== undefined) {
      // Its request held what it stands for.
      return undefined;
    }
    const billed = message.usage_metadata?.input_tokens;
    const name = names.find(({ askedAs }) => typeof knownCount(message, askedAs) === "number");
    if (name !== undefined && typeof billed === "number" && billed > 0) {
      const thought = knownCount(message, name.askedAs) as number;
      const ratio = billed / thought;
      const isSeen = name.isWhole && ratio <= largestRatio;
      const bill = isSeen ? { ratio, unseen: 0 } : { ratio: 1, unseen: billed - thought };
      return ratio < smallestRatio ? undefined : { index, name, thought, ...bill };
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
  const count = toolLists.get(tools);
  if (count !== undefined) {
    return count;
  }
  const tokens = estimateCost(toolsCost(tools.filter(isRecord) as unknown as ToolDefinitionLike[], 7));
  toolLists.set(tools, tokens);
  return tokens;
}
