import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { copyWith } from "../change-message.js";
import { blocksOf, isStandardContent } from "../content.js";
import { speakerOf, summaryKey } from "../roles.js";
import { fieldsOf, recordsIn, without } from "../values.js";
import { plainAnswer } from "./plain-answer.js";

/**
 * Merges messages of one speaker in their order, texts separated by a blank line. Other fields are those of the first
 * message, or, of AI messages, of the last, whose calls the next messages answer; these become plain. Linear.
 */
export function mergeMessages(messages: readonly BaseMessage[]): BaseMessage {
  const isModel = speakerOf(messages[0]!) === "assistant";
  const parts = isModel ? messages.map((message) => plainAnswer(message)) : messages;
  const base = parts.at(isModel ? -1 : 0)!;
  const sameName = parts.every(({ name }) => name === base.name);
  return copyWith(base, {
    content: mergeContent(parts),
    additional_kwargs: without(fieldsOf(base.additional_kwargs), summaryKey),
    ...(parts.some(isStandardContent)
      ? { response_metadata: { ...base.response_metadata, output_version: "v1" } }
      : {}),
    ...(sameName ? {} : { name: undefined }),
    ...(isModel ? mergeCalls(parts as AIMessage[]) : {}),
  });
}

function mergeContent(messages: readonly BaseMessage[]): unknown {
  if (messages.every(({ content }) => typeof content === "string")) {
    return messages.flatMap(({ content }) => (content === "" ? [] : [content])).join("\n\n");
  }
  return messages.flatMap((message) => [...blocksOf(message)]);
}

function mergeCalls(messages: readonly AIMessage[]): Record<string, unknown> {
  return {
    tool_calls: messages.flatMap(({ tool_calls: calls }) => recordsIn(calls)),
    invalid_tool_calls: messages.flatMap(({ invalid_tool_calls: calls }) => recordsIn(calls)),
  };
}
