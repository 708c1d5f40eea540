import { coerceMessageLikeToMessage, type BaseMessage, type BaseMessageLike } from "@langchain/core/messages";
import { ConfigurationError } from "../base/errors.js";

/** Where a value stands that should become a message: for the error's text. */
export interface LikePlace {
  readonly option: string;
  /** The list that holds it, such as "Reducer input". */
  readonly list: string;
  readonly index: number;
}

/**
 * The message that LangChain makes of a string, a pair of role and text, or an object with a role. A message is
 * returned as it is.
 *
 * @throws ConfigurationError if LangChain makes none. LangChain's own error quotes the value, so it is not the cause.
 */
export function toMessage(like: unknown, { option, list, index }: LikePlace): BaseMessage {
  try {
    return coerceMessageLikeToMessage(like as BaseMessageLike);
  } catch {
    throw new ConfigurationError(option, `${list}[${index}] is not a message.`);
  }
}
