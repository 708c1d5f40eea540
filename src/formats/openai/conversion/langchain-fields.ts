import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord } from "../../../store/codec/decode-record.js";
import { encodeMessage, recordVersion } from "../../../store/codec/encode-message.js";
import { startWalk, tagKey, tagValue } from "../../../store/codec/tagged-values.js";
import { RecordError } from "../../../base/errors.js";
import { speakerByType } from "../../../conversation/messages/roles.js";
import { partsOfBlocks } from "./content-blocks.js";
import { isPlainObject } from "../../../base/json-value.js";
import { isMessage, saysOtherwise } from "../message-schema.js";
import type { MessageRole, OpenAIMessage } from "../message.js";
import { callsToLangChain, callsToOpenAI } from "./tool-call-conversion.js";

/** A LangChain message's type and fields as the codec stores them: JSON, with tags for values that JSON cannot hold. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the fields of a message that are not empty.
 *
 * @throws RecordError `unsupported_message`, with the position given.
 */
export function fieldsOf(message: BaseMessage, position: number): Fields {
  try {
    const { type, data } = JSON.parse(encodeMessage(message, { id: message.id ?? "" }).record) as {
      type: string;
      data: Fields;
    };
    const { id, ...fields } = data;
    return { type, ...fields, ...(id !== "" && { id }) };
  } catch (error) {
    throw RecordError.isInstance(error)
      ? new RecordError(error.message, { code: error.code, position, cause: error })
      : error;
  }
}

/** Creates the message with these fields. @throws RecordError `corrupt` if they are not those of a message. */
export function messageOf({ type, ...data }: Fields): BaseMessage {
  return decodeRecord(JSON.stringify({ type, data, meta: { v: recordVersion } })).message;
}

/** Fields of answers that LangChain's chat models keep in `additional_kwargs` under the same names. */
const sharedKeys = ["refusal", "audio", "function_call", "reasoning_content", "annotations"] as const;
const developerMark = { __openai_role__: "developer" };

/** Converts a message in OpenAI's format to LangChain's fields, without what these cannot express. */
export function toFields(message: OpenAIMessage): Fields {
  const { role, content, name, tool_calls: calls, tool_call_id: callId } = message;
  const kwargs = role === "developer" ? developerMark : role === "assistant" ? pick(message, sharedKeys) : {};
  return tagged({
    type: types[role],
    content: content?.length === 0 && saysOtherwise(message) ? "" : (content ?? ""),
    ...(name !== undefined && { name }),
    ...(role === "assistant" && callsToLangChain(calls)),
    ...(role === "tool" && { tool_call_id: callId }),
    ...(Object.keys(kwargs).length > 0 && { additional_kwargs: kwargs }),
  });
}

/** Converts LangChain's fields to a message in OpenAI's format; undefined if the format has no role for it. */
export function toOpenAI(source: Fields): OpenAIMessage | undefined {
  const fields = untagged(source) as Fields;
  const role = openAIRoleOf(fields);
  if (role === undefined) {
    return undefined;
  }
  const said = role === "assistant" ? assistantFields(fields) : {};
  const content =
    typeof fields["content"] === "string" ? fields["content"] : partsOfBlocks((fields["content"] ?? []) as unknown[]);
  const silent = content.length === 0 && saysOtherwise(said);
  return {
    role,
    ...(!silent && { content }),
    ...(fields["name"] !== undefined && { name: fields["name"] }),
    ...said,
    ...(role === "tool" && { tool_call_id: fields["tool_call_id"] }),
  } as OpenAIMessage;
}

/** Copies JSON data and tags objects that have the codec's own key, so that they are restored unchanged. */
export function tagged<T extends object>(value: T): T {
  return tagValue(value, startWalk()) as T;
}

/** Copies data and replaces tagged values with their JSON form: a date with its text, bytes with their base64. */
export function untagged(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(untagged);
  }
  if (!isPlainObject(value)) {
    return value;
  }
  if (!Object.hasOwn(value, tagKey)) {
    return untaggedProperties(value);
  }
  const [kind, payload] = value[tagKey] as [string, unknown];
  return kind === "Number" || payload === undefined
    ? null
    : kind === "Object"
      ? untaggedProperties(payload as object)
      : untagged(payload);
}

function untaggedProperties(object: object): object {
  return Object.fromEntries(Object.entries(object).map(([key, property]) => [key, untagged(property)]));
}

const types: Readonly<Record<MessageRole, string>> = {
  system: "system",
  developer: "system",
  user: "human",
  assistant: "ai",
  tool: "tool",
};

function openAIRoleOf({ type, role, additional_kwargs: kwargs }: Fields): MessageRole | undefined {
  const speaker = speakerByType(type, role);
  if (speaker === "system") {
    const isDeveloper =
      type === "generic" ? role === "developer" : (kwargs as Fields | undefined)?.["__openai_role__"] === "developer";
    return isDeveloper ? "developer" : "system";
  }
  return speaker === "other" ? undefined : speaker;
}

function assistantFields(fields: Fields): Partial<OpenAIMessage> {
  const calls = callsToOpenAI(fields);
  const shared = Object.entries(pick((fields["additional_kwargs"] ?? {}) as Fields, sharedKeys));
  return {
    ...(calls.length > 0 && { tool_calls: calls }),
    ...Object.fromEntries(shared.filter(([key, value]) => isMessage({ role: "assistant", content: "", [key]: value }))),
  };
}

function pick(from: object, keys: readonly string[]): Fields {
  return Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(from, key) ? [[key, (from as Fields)[key]]] : [])));
}
