import * as z from "zod/mini";
import { anyText, lazy, parseOptions } from "../../base/options.js";
import { copyJson, isPlainObject } from "../../base/json.js";
import type { MessageToolCall, OpenAIMessage, OpenAIRequestMessage } from "./message.js";

/** Text that is not empty. */
export const nonEmpty = lazy(() => anyText().check(z.minLength(1, "must not be empty")));
const detail = lazy(() => z.optional(anyText()));
const plainObject = lazy(() => z.custom<Record<string, unknown>>(isPlainObject, "must be a plain object"));

const filePart = lazy(() =>
  z
    .looseObject({
      file_id: z.optional(nonEmpty()),
      file_data: z.optional(nonEmpty()),
      filename: z.optional(anyText()),
    })
    .check(
      z.refine(
        ({ file_id, file_data }) => file_id !== undefined || file_data !== undefined,
        "must have a file_id or file_data",
      ),
    ),
);

const partSchema = lazy(() =>
  z.discriminatedUnion(
    "type",
    [
      z.looseObject({ type: z.literal("text"), text: anyText() }),
      z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: nonEmpty(), detail: detail() }) }),
      z.looseObject({
        type: z.literal("image_file"),
        image_file: z.looseObject({ file_id: nonEmpty(), detail: detail() }),
      }),
      z.looseObject({ type: z.literal("file"), file: filePart() }),
      z.looseObject({
        type: z.literal("input_audio"),
        input_audio: z.looseObject({ data: nonEmpty(), format: nonEmpty() }),
      }),
      z.looseObject({ type: z.literal("refusal"), refusal: anyText() }),
    ],
    { error: "must be one of text, image_url, image_file, file, input_audio, refusal" },
  ),
);

const partsSchema = lazy(() => z.array(partSchema(), "must be a string or an array of content parts"));

/** Text or parts; reports the errors of the parts, not of the union. */
const bodySchema = lazy(() =>
  z.unknown().check((context) => {
    if (typeof context.value === "string") {
      return;
    }
    const result = partsSchema().safeParse(context.value);
    for (const { message, path } of result.error?.issues ?? []) {
      context.issues.push({ code: "custom", message, path: [...path], input: context.value });
    }
  }),
);

/** A call as a model makes it: the id is empty if the provider has no ids. */
const callSchema = lazy(() =>
  z.discriminatedUnion(
    "type",
    [
      z.looseObject({
        id: anyText(),
        type: z.literal("function"),
        function: z.looseObject({ name: anyText(), arguments: anyText() }),
      }),
      z.looseObject({
        id: anyText(),
        type: z.literal("custom"),
        custom: z.looseObject({ name: anyText(), input: anyText() }),
      }),
    ],
    { error: 'must be "function" or "custom"' },
  ),
);

/** Tool calls as a model makes them. */
export const toolCallsSchema = lazy(() => z.array(callSchema(), "must be an array of tool calls"));

/** An ISO 8601 date-time with or without a zone, as Python's `isoformat()` also writes it. */
const timestampSchema = lazy(() =>
  z.iso.datetime({
    offset: true,
    local: true,
    error: "must be an ISO 8601 date-time, such as 2026-01-31T12:00:00Z",
  }),
);

/** ISO 8601 with seconds and zone, which names one moment. */
export const momentSchema = lazy(() =>
  z.iso.datetime({
    offset: true,
    error: "must be an ISO 8601 date-time with a time zone, such as 2026-01-31T12:00:00Z",
  }),
);

/** Schema fields that every message may have besides its content. */
export const noteFields = lazy(() => ({
  name: z.optional(anyText()),
  metadata: z.optional(plainObject()),
  timestamp: z.optional(timestampSchema()),
}));

const anyRole = lazy(() => ({ ...noteFields(), langchain: z.optional(plainObject()) }));
const assistantFields = lazy(() => ({
  tool_calls: z.optional(toolCallsSchema()),
  refusal: z.nullish(anyText()),
  audio: z.nullish(z.looseObject({ id: anyText() }, "must be an object with an id")),
  function_call: z.nullish(
    z.looseObject({ name: anyText(), arguments: anyText() }, "must be an object with name and arguments"),
  ),
  reasoning_content: z.nullish(anyText()),
  annotations: z.optional(z.array(plainObject(), "must be an array of objects")),
}));

const roleError = "must be one of system, developer, user, assistant, tool";
const messageSchema = lazy(() =>
  z.discriminatedUnion(
    "role",
    [
      z.looseObject({ role: z.literal("system"), content: bodySchema(), ...anyRole() }),
      z.looseObject({ role: z.literal("developer"), content: bodySchema(), ...anyRole() }),
      z.looseObject({ role: z.literal("user"), content: bodySchema(), ...anyRole() }),
      z
        .looseObject({
          role: z.literal("assistant"),
          content: z.nullish(bodySchema()),
          ...assistantFields(),
          ...anyRole(),
        })
        .check(
          z.refine((message) => (message.content ?? undefined) !== undefined || saysOtherwise(message), {
            message:
              "must be present unless the assistant message has tool_calls, refusal, audio, function_call " +
              "or reasoning_content",
            path: ["content"],
          }),
        ),
      z.looseObject({ role: z.literal("tool"), content: bodySchema(), tool_call_id: anyText(), ...anyRole() }),
    ],
    { error: roleError },
  ),
);

const messagesSchema = lazy(() => z.object({ messages: z.array(messageSchema(), "must be an array of messages") }));

/** Schema of a message's role. */
export const roleSchema = lazy(() => z.enum(["system", "developer", "user", "assistant", "tool"], roleError));

/** True if an assistant message says something besides its content. */
export function saysOtherwise(message: Partial<Record<keyof OpenAIMessage, unknown>>): boolean {
  const { tool_calls: calls, refusal, audio, function_call: call, reasoning_content: reasoning } = message;
  return (
    (Array.isArray(calls) && calls.length > 0) ||
    [refusal, audio, call, reasoning].some((value) => value !== undefined && value !== null)
  );
}

/**
 * Checks messages and returns copies with their keys in a fixed order.
 *
 * @throws ConfigurationError naming the field, such as `messages.2.content.0.type`.
 */
export function parseMessages(owner: string, messages: unknown): OpenAIMessage[] {
  const named = Array.isArray(messages) ? messages.map(withNamedAudio) : messages;
  parseOptions(owner, messagesSchema(), { messages: named });
  return (named as OpenAIMessage[]).map((message, index) => normalize(copyJson(message, `messages.${index}`)));
}

/** Does the same for one message; errors name the field within the message, such as `content.0.type`. */
export function parseMessage(owner: string, message: unknown): OpenAIMessage {
  const named = withNamedAudio(message);
  parseOptions(owner, messageSchema(), named);
  return normalize(copyJson(named as OpenAIMessage));
}

/** The message with each `audio` part, as MASEval names it, under the API's name. */
function withNamedAudio(message: unknown): unknown {
  const content = isPlainObject(message) ? message["content"] : undefined;
  const isAudio = (part: unknown) => isPlainObject(part) && part["type"] === "audio" && isPlainObject(part["audio"]);
  if (!Array.isArray(content) || !content.some(isAudio)) {
    return message;
  }
  const named = content.map((part: Record<string, unknown>) => {
    const { type: _, audio, ...others } = part;
    return isAudio(part) ? { type: "input_audio", input_audio: audio, ...others } : part;
  });
  return { ...(message as object), content: named };
}

/** True for messages that {@link parseMessages} accepts. */
export function isMessage(value: unknown): boolean {
  return messageSchema().safeParse(value).success;
}

/** True for content parts of OpenAI's format. */
export function isContentPart(value: unknown): boolean {
  return partSchema().safeParse(value).success;
}

/** The fields that the API accepts as input. */
const requestKeys = [
  "role",
  "content",
  "name",
  "tool_calls",
  "tool_call_id",
  "refusal",
  "audio",
  "function_call",
] as const;
/** Fields of the API's answers that it refuses as input. */
const answerKeys = ["reasoning_content", "annotations"] as const;
const ownKeys = ["langchain", "metadata", "timestamp"] as const;

function normalize(message: OpenAIMessage): OpenAIMessage {
  const { langchain, metadata, timestamp, ...fields } = message;
  const ordered = { ...pick(fields, [...requestKeys, ...answerKeys]), ...fields } as OpenAIMessage;
  return Object.assign(ordered, pick({ langchain, metadata, timestamp }, ownKeys));
}

/**
 * Returns a copy with only the fields that the API accepts as input. Audio of the model is referred to by its id. A
 * message that only has `reasoning_content` gets empty content, because the API requires some. A character that the API
 * refuses in names of speakers and tools becomes an underscore.
 */
export function requestMessage(message: OpenAIMessage): OpenAIRequestMessage {
  const copy = copyJson(pick(message, requestKeys) as OpenAIMessage);
  if (copy.tool_calls?.length === 0) {
    delete copy.tool_calls;
  }
  for (const named of [copy, copy.function_call, ...(copy.tool_calls ?? []).map(calledOf)]) {
    if (typeof named?.name === "string") {
      named.name = named.name.replace(/[^\w-]/g, "_").slice(0, 64);
    }
  }
  if (copy.audio) {
    copy.audio = { id: copy.audio.id };
  }
  if ((copy.content ?? undefined) === undefined && !saysOtherwise(copy)) {
    copy.content = "";
  }
  return copy as OpenAIRequestMessage;
}

function calledOf(call: MessageToolCall): { name: string } {
  return call.type === "custom" ? call.custom : call.function;
}

function pick(message: Partial<OpenAIMessage>, keys: readonly (keyof OpenAIMessage)[]): Partial<OpenAIMessage> {
  return Object.fromEntries(keys.flatMap((key) => (message[key] === undefined ? [] : [[key, message[key]]])));
}
