import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import type { BasePromptValueInterface } from "@langchain/core/prompt_values";
import { toMessage } from "../messages/message-like.js";
import { ConfigurationError } from "../errors.js";

/**
 * What a reducer can be invoked with: messages or what becomes messages, a prompt's value, or an object that holds
 * messages.
 */
export type ReducerInput = BaseMessageLike[] | BasePromptValueInterface | { messages: BaseMessageLike[] };

/**
 * The messages of an input, as a fresh array; those that are messages already keep their identity.
 *
 * @throws ConfigurationError if it holds no messages, or something other than a message.
 */
export function messagesOf(input: ReducerInput): BaseMessage[] {
  if (Array.isArray(input)) {
    return input.map((like, index) => toMessage(like, { option: "input", list: "Reducer input", index }));
  }
  if (typeof (input as Partial<BasePromptValueInterface> | undefined)?.toChatMessages === "function") {
    return [...(input as BasePromptValueInterface).toChatMessages()];
  }
  const messages = (input as { messages?: unknown } | null | undefined)?.messages;
  if (Array.isArray(messages)) {
    return messagesOf(messages as BaseMessageLike[]);
  }
  throw new ConfigurationError("input", "A reducer takes messages, a prompt value, or an object with messages.");
}
