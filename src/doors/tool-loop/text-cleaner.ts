import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { jsonText } from "../../base/json-text.js";
import { type Block, isTextBlock, saysNothing, callsOf, textOf } from "../../conversation/messages/content.js";
import { roleOf } from "../../conversation/messages/message.js";
import { changeContent, textAnswer } from "../../conversation/messages/copies/edit-message.js";
import { anyFunction, lazy } from "../../base/options.js";
import { answerStart } from "../../memory/session/turn-messages.js";
import type { OpenTurn } from "../../memory/turns/open-turn.js";
import { isQuestion } from "./stored/stored-session.js";

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

/** The current turn, as far as it is known. */
interface CurrentTurn {
  /** Its stored part; undefined before the first read. */
  readonly opened: OpenTurn | undefined;
  readonly originalUserMessage: string | undefined;
  /** Messages that were added since. */
  readonly added: readonly BaseMessage[];
}

/**
 * The stored messages, then what the current turn adds to them: nothing where the turn is stored already, and no
 * question where that is stored. An interrupted answer, which the turn replaces, is left out.
 */
export function withCurrentTurn(
  stored: readonly BaseMessage[],
  { opened, originalUserMessage, added }: CurrentTurn,
): BaseMessage[] {
  if (opened?.state === "stored") {
    return [...stored];
  }
  const own = opened?.stored ?? [];
  const replaced = opened?.state === "interrupted" ? own.slice(answerStart(own)) : [];
  const gone = new Set(replaced.map(({ message }) => message.id));
  const messages = stored.filter(({ id }) => id === undefined || !gone.has(id));
  const hasQuestion =
    own.some(({ message }) => roleOf(message) === "human") || isQuestion(messages.at(-1), originalUserMessage);
  const question = originalUserMessage === undefined || hasQuestion ? [] : [new HumanMessage(originalUserMessage)];
  return [...messages, ...question, ...added];
}

/**
 * Returns what a user sees of messages: what both sides said, without tool calls, tool results, instructions and
 * summaries.
 */
export function userVisible(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.flatMap((message) => {
    const role = roleOf(message);
    if (role === "human") {
      return [message];
    }
    return role === "ai" && (callsOf(message).length === 0 || textOf(message).trim() !== "")
      ? [callsOf(message).length === 0 ? message : textAnswer(message, textOf(message))]
      : [];
  });
}
