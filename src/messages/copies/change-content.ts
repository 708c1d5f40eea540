import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { copyWith } from "../change-message.js";
import { contentText } from "../content.js";
import { speakerOf } from "../roles.js";
import { fieldsOf, without } from "../values.js";
import { itemIdKeys } from "./answer-fields.js";
import { editMessage } from "./edit-message.js";

/**
 * Keys of `additional_kwargs` and `response_metadata` in which adapters repeat what an answer says. Reasoning and item
 * ids go with the raw output, because the provider takes them together only.
 */
const repeatingKwargs: readonly string[] = [
  "reasoning",
  ...itemIdKeys,
  "tool_outputs",
  "originalTextContentBlock",
  "parsed",
  "audio",
];
const repeatingMetadata: readonly string[] = ["output", "logprobs"];

/**
 * A copy of the message with other content. Where the text of an answer changes, the raw copies of its text go, so that
 * no adapter sends them in place of the content; calls stay, `editMessage` changes those.
 */
export function changeContent<M extends BaseMessage>(message: M, content: string | readonly object[]): M {
  const isSame = contentText(message.content) === contentText(content as MessageContent);
  const base = isSame || speakerOf(message) !== "assistant" ? message : withoutRawText(message);
  return copyWith(base, { content });
}

/** A copy of an answer without the raw copies of its text. */
export function withoutRawText<M extends BaseMessage>(message: M): M {
  const { additional_kwargs, response_metadata } = message;
  return copyWith(message, {
    additional_kwargs: without(fieldsOf(additional_kwargs), ...repeatingKwargs),
    response_metadata: without(fieldsOf(response_metadata), ...repeatingMetadata),
  });
}

/** A copy of an answer that says this text and nothing else: no call, no thought, no raw copy. */
export function plainAnswer<M extends BaseMessage>(message: M, text: string): M {
  const silent = editMessage(message, { calls: () => "remove", thoughts: "remove" });
  return copyWith(withoutRawText(silent), { content: text });
}
