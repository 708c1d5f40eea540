import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { copyWith } from "../change-message.js";
import { contentText } from "../content.js";
import { speakerOf } from "../roles.js";
import { plainAnswer } from "./plain-answer.js";

/** A copy of the message with other content. An answer that says something else becomes plain. */
export function changeContent<M extends BaseMessage>(message: M, content: string | readonly object[]): M {
  const isSame = contentText(message.content) === contentText(content as MessageContent);
  return isSame || speakerOf(message) !== "assistant"
    ? copyWith(message, { content })
    : plainAnswer(message, { content });
}

/** A copy of an answer that says this text and nothing else: no call, no thought, no raw copy. */
export function textAnswer<M extends BaseMessage>(message: M, content: string): M {
  return plainAnswer(message, { content, tool_calls: [], invalid_tool_calls: [] });
}
