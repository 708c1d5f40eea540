import { coerceMessageLikeToMessage, type BaseMessage, type BaseMessageLike } from "@langchain/core/messages";
import { ConfigurationError } from "../errors.js";

/** Where something stands that is to be a message: for the error's text. */
export interface MessagePlace {
  readonly option: string;
  /** What it stands in, such as "A reducer's input". */
  readonly what: string;
  readonly index: number;
}

/**
 * The message that LangChain makes of a text, a pair of role and text, or an object with a role; a message is given as
 * it is.
 *
 * @throws ConfigurationError where it makes none. LangChain's own error shows what it was given, so it is not its cause
 *   either.
 */
export function toMessage(like: unknown, { option, what, index }: MessagePlace): BaseMessage {
  try {
    return coerceMessageLikeToMessage(like as BaseMessageLike);
  } catch {
    throw new ConfigurationError(option, `${what} holds something at index ${index} that is no message.`);
  }
}
