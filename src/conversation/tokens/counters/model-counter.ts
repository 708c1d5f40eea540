import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { lazy, objectWith, parseOptions } from "../../../base/options.js";
import { type Cost, messageCost, replyTokens } from "../formulas/message-cost.js";
import type { TokenCounter } from "../counted-messages.js";

/** A model that counts text: every LangChain chat model and language model does. */
export interface CountingModel {
  /** The number of tokens of a text. */
  getNumTokens(text: string): Promise<number>;
  /** The name of the model's class. */
  getName?(): string;
  /** The model's own name, such as `gpt-4o`; many classes say `modelName` instead. */
  readonly model?: string;
  /** The model's own name, where `model` is left out. */
  readonly modelName?: string;
}

const optionsSchema = lazy(() =>
  z.strictObject({ model: objectWith<CountingModel>(["getNumTokens"], "a model with a getNumTokens method") }),
);

/**
 * A counter that asks the model (`getNumTokens`), once per message with all its texts in one call, a line each.
 *
 * The method of counting depends on the model: LangChain's default downloads an encoding from the network at the first
 * call, falls back to four characters a token when it cannot, and takes minutes for a long run of one letter. Prefer
 * `tiktokenCounter` or `approximateCounter` unless the model counts by itself. Tool calls count by their text; overhead
 * and media by OpenAI's formulas, as with `tiktokenCounter`.
 *
 * @throws ConfigurationError if the model has no `getNumTokens`.
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { ChatHistoryTokenReducer, modelCounter } from "langchain-redis-memory";
 *
 * const tokenCounter = modelCounter(new ChatOpenAI({ model: "gpt-4o-mini" }));
 * const reducer = new ChatHistoryTokenReducer({ maxTokens: 8_000, tokenCounter });
 */
export function modelCounter(model: CountingModel): TokenCounter {
  parseOptions("modelCounter", optionsSchema(), { model });
  const count = async ({ texts, tokens }: Cost) =>
    tokens + (texts.length === 0 ? 0 : await model.getNumTokens(texts.join("\n")));
  return {
    id: `model:${[model.getName?.(), model.model ?? model.modelName].filter(Boolean).join(":") || "unnamed"}:1`,
    perRequest: replyTokens,
    countMessage: (message: BaseMessage) => count(messageCost(message)),
    countText: (text: string) => count({ texts: text === "" ? [] : [text], tokens: 0 }),
  };
}
