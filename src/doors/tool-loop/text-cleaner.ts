import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { jsonText } from "../../base/json-text.js";
import { type Block, isTextBlock, saysNothing } from "../../conversation/messages/content.js";
import { roleOf } from "../../conversation/messages/roles.js";
import { changeContent } from "../../conversation/messages/copies/change-content.js";
import { anyFunction, lazy } from "../../base/options.js";

/** Returns a text without the parts that the model did not write (follow-up questions, for example). */
export type TextRemoval = (text: string) => string | Promise<string>;

/** One removal, or several that run in order, each on the result of the previous one. */
export type RemoveFromText = TextRemoval | readonly TextRemoval[];

/** Schema of {@link RemoveFromText}. */
export const removeFromTextSchema = lazy(() =>
  z.union(
    [anyFunction<TextRemoval>(), z.array(anyFunction<TextRemoval>())],
    "must be a function from text to text, or an array of such functions",
  ),
);

/**
 * Applies removals to the text of human and AI messages, including text parts. Tool results and arguments of calls stay
 * as they are. A message that does not change stays the same object, and one that changes to the same content as last
 * time is the same copy as last time.
 */
export class TextCleaner {
  readonly #copies = new WeakMap<BaseMessage, BaseMessage>();

  /** Returns the cleaned messages, without AI messages that became empty. */
  async clean(messages: readonly BaseMessage[], removals: RemoveFromText | undefined): Promise<BaseMessage[]> {
    const chain = removals === undefined ? [] : typeof removals === "function" ? [removals] : removals;
    if (chain.length === 0) {
      return [...messages];
    }
    const cleaned = await Promise.all(messages.map((message) => this.#cleanOne(message, chain)));
    return cleaned.filter(
      (message, index) => message === messages[index] || roleOf(message) !== "ai" || !saysNothing(message),
    );
  }

  async #cleanOne(message: BaseMessage, chain: readonly TextRemoval[]): Promise<BaseMessage> {
    const role = roleOf(message);
    if (role !== "human" && role !== "ai") {
      return message;
    }
    const content = await cleanContent(message.content, chain);
    if (content === message.content) {
      return message;
    }
    const copy = this.#copies.get(message);
    const json = jsonText(content);
    if (copy !== undefined && json !== undefined && jsonText(copy.content) === json) {
      return copy;
    }
    const changed = changeContent(message, content);
    this.#copies.set(message, changed);
    return changed;
  }
}

async function cleanContent(
  content: BaseMessage["content"],
  chain: readonly TextRemoval[],
): Promise<BaseMessage["content"]> {
  if (typeof content === "string") {
    return apply(chain, content);
  }
  const parts = await Promise.all(
    content.map(async (part) => {
      const { text: said } = part as Block;
      if (!isTextBlock(part as Block) || typeof said !== "string") {
        return part;
      }
      const text = await apply(chain, said);
      return text === said ? part : { ...part, text };
    }),
  );
  const changed = parts.some((part, index) => part !== content[index]);
  return changed ? parts.filter((part, index) => part === content[index] || part["text"] !== "") : content;
}

async function apply(chain: readonly TextRemoval[], text: string): Promise<string> {
  let result = text;
  for (const remove of chain) {
    result = await remove(result);
  }
  return result;
}
