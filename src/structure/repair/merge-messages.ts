import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { blocksOf, isStandardContent } from "../../messages/content.js";
import { speakerOf, summaryKey } from "../../messages/roles.js";
import { recordsIn, without } from "../../messages/values.js";
import { changeMessage } from "../../messages/change-message.js";

/**
 * One message that says what several of one speaker say, in their order, texts parted by a blank line. It has the other
 * fields of the first, or, if the model speaks, of the last, whose calls the next messages answer. Linear.
 */
export function mergeMessages(messages: readonly BaseMessage[]): BaseMessage {
  const isModel = speakerOf(messages[0]!) === "assistant";
  const base = messages.at(isModel ? -1 : 0)!;
  const sameName = messages.every(({ name }) => name === base.name);
  return changeMessage(base, {
    content: mergeContent(messages),
    additional_kwargs: without(base.additional_kwargs, summaryKey),
    ...(messages.some(isStandardContent)
      ? { response_metadata: { ...base.response_metadata, output_version: "v1" } }
      : {}),
    ...(sameName ? {} : { name: undefined }),
    ...(isModel ? mergeCalls(messages as AIMessage[]) : {}),
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
