import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { copyWith } from "../change-message.js";
import { blocksOf, isStandardContent } from "../content.js";
import { speakerOf, summaryKey } from "../roles.js";
import { type Fields, fieldsOf, isRecord, recordsIn, without } from "../values.js";
import { itemIdKeys, signaturesKey } from "./answer-fields.js";
import { withoutRawText } from "./change-content.js";
import { outputItems } from "./output-items.js";

/**
 * Merges messages of one speaker in their order, texts separated by a blank line. Other fields are those of the first
 * message, or, of AI messages, of the last, whose calls the next messages answer. Raw copies of answers are joined
 * where each answer has one, and else left out. Linear.
 */
export function mergeMessages(messages: readonly BaseMessage[]): BaseMessage {
  const isModel = speakerOf(messages[0]!) === "assistant";
  const base = messages.at(isModel ? -1 : 0)!;
  const sameName = messages.every(({ name }) => name === base.name);
  const merged = copyWith(base, {
    content: mergeContent(messages),
    additional_kwargs: without(fieldsOf(base.additional_kwargs), summaryKey),
    ...(messages.some(isStandardContent)
      ? { response_metadata: { ...base.response_metadata, output_version: "v1" } }
      : {}),
    ...(sameName ? {} : { name: undefined }),
    ...(isModel ? mergeCalls(messages as AIMessage[]) : {}),
  });
  return isModel ? mergeRaw(messages, merged) : merged;
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

/** The raw calls go, because `tool_calls` tells them all; the raw output stays where that of every answer is known. */
function mergeRaw(messages: readonly BaseMessage[], merged: BaseMessage): BaseMessage {
  const kwargs = messages.map(({ additional_kwargs }) => fieldsOf(additional_kwargs));
  const outputs = messages.map(({ response_metadata }) => outputItems(fieldsOf(response_metadata)["output"]));
  const isWhole = outputs.every((items) => items !== undefined) && Array.isArray(merged.content);
  const base = isWhole
    ? copyWith(merged, {
        response_metadata: { ...merged.response_metadata, output: outputs.flatMap((items) => items!) },
      })
    : withoutRawText(merged);
  const signatures = kwargs.map((own) => own[signaturesKey]).filter(isRecord);
  const joined: Fields = {
    ...without(fieldsOf(base.additional_kwargs), "tool_calls"),
    ...(isWhole && joinedMaps(kwargs)),
    ...(signatures.length > 0 && { [signaturesKey]: Object.assign({}, ...signatures) as Fields }),
  };
  return copyWith(base, { additional_kwargs: joined });
}

/** The fields beside raw outputs: ids of items by call id, and the steps of the server. */
function joinedMaps(kwargs: readonly Fields[]): Fields {
  const maps = itemIdKeys.flatMap((key) => {
    const own = kwargs.map((fields) => fields[key]).filter(isRecord);
    return own.length === 0 ? [] : [[key, Object.assign({}, ...own) as Fields] as const];
  });
  const steps = kwargs.flatMap(({ tool_outputs: list }) => (Array.isArray(list) ? (list as unknown[]) : []));
  return { ...Object.fromEntries(maps), ...(steps.length > 0 && { tool_outputs: steps }) };
}
