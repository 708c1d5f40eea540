import { randomUUID } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { objectWith, parseOptions } from "../../base/options.js";
import { toLangChain } from "./conversion/langchain-conversion.js";
import type { OpenAIMessage } from "./message.js";

/**
 * The part of LangChain's chat message histories that loading and saving need.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { MessageHistory } from "langchain-redis-memory/openai";
 *
 * const history = new RedisChatMemory({ url: "redis://localhost:6379" }).history("chat-7");
 * const messages = await MessageHistory.load(history);
 * messages.addMessage("user", "And tomorrow?");
 * await messages.save(history); // stores the new message only
 */
export interface ChatHistoryLike {
  /** All messages, oldest first. */
  getMessages(): Promise<BaseMessage[]>;
  /** Adds messages at the end. */
  addMessages(messages: BaseMessage[]): Promise<void>;
}

/** Remembers which messages LangChain histories already hold, so that none is saved twice. */
export class SavedMessages {
  /** By history: the mark up to which it holds the conversation. */
  readonly #marks = new WeakMap<object, number>();
  /** By history: the save under way, which the next one follows. */
  readonly #saving = new WeakMap<object, Promise<void>>();
  /** The ids assigned to messages without one when they were saved, so that a retry uses the same. */
  readonly #ids = new WeakMap<OpenAIMessage, string>();

  /** Remembers that the history holds all messages before the mark. */
  remember(history: object, mark: number): void {
    this.#marks.set(history, mark);
  }

  /**
   * Appends the messages that the history does not hold yet; `messages` are those since the mark `first`. One after
   * another: a save that began while another ran would add its messages again.
   */
  save(history: ChatHistoryLike, messages: readonly OpenAIMessage[], first: number): Promise<void> {
    const copy = [...messages];
    const saving = (this.#saving.get(history) ?? Promise.resolve()).then(() => this.#save(history, copy, first));
    this.#saving.set(
      history,
      saving.catch(() => undefined),
    );
    return saving;
  }

  async #save(history: ChatHistoryLike, messages: readonly OpenAIMessage[], first: number): Promise<void> {
    const end = first + messages.length;
    const unsaved = messages.slice(Math.max(0, (this.#marks.get(history) ?? 0) - first));
    if (unsaved.length > 0) {
      await history.addMessages(unsaved.map((message) => this.#withId(message)));
      this.remember(history, end);
    }
  }

  #withId(message: OpenAIMessage): BaseMessage {
    const converted = toLangChain(message);
    if (converted.id === undefined) {
      const id = this.#ids.get(message) ?? randomUUID();
      this.#ids.set(message, id);
      converted._updateId(id);
    }
    return converted;
  }
}

/** Returns the history if it has the method. @throws ConfigurationError naming `history`. */
export function checkHistory(owner: string, history: ChatHistoryLike, method: keyof ChatHistoryLike): ChatHistoryLike {
  const schema = z.object({
    history: objectWith<ChatHistoryLike>([method], `a chat message history with ${method}()`),
  });
  return parseOptions(owner, schema, { history }).history;
}
