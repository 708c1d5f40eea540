import type { BaseMessage } from "@langchain/core/messages";
import { RecordError } from "../../../base/errors.js";
import { isPlainObject, parseArguments } from "../../../base/json.js";
import { sameAsJson } from "../../../base/json-text.js";
import { isMessage, saysOtherwise, isContentPart } from "../message-schema.js";
import type { OpenAIMessage, MessageRole, ContentPart, MessageToolCall } from "../message.js";
import { decodeRecord } from "../../../store/codec/decode-record.js";
import { encodeMessage, recordVersion } from "../../../store/codec/encode-message.js";
import { startWalk, tagKey, tagValue } from "../../../store/codec/tagged-values.js";
import { type Fields, speakerByType, fieldsOf } from "../../../conversation/messages/message.js";
import { imageBlock, mediaIn, audioPart, filePart } from "../../../conversation/messages/media.js";
import { type Block, isResponsesText } from "../../../conversation/messages/content.js";

/**
 * The key in `additional_kwargs` for what LangChain has no field for: `metadata`, `timestamp`, arguments whose JSON
 * text is not in canonical form, null content, and fields that are not OpenAI's.
 */
const openAIKey = "lcmem_openai";

/**
 * Converts a message to OpenAI's format. Its field `langchain` keeps what the format cannot express, so that
 * {@link toLangChain} returns an equal message. Restores what {@link toLangChain} kept if it still agrees with the
 * message.
 *
 * @throws RecordError `unsupported_message` for a value that is not a message, or a type without a role in the format.
 */
export function fromLangChain(message: BaseMessage, position: number): OpenAIMessage {
  const { fields, extras } = takeExtras(storedFieldsOf(message, position));
  const plain = toOpenAI(fields);
  if (plain === undefined) {
    const reason = "its type has no role in OpenAI's chat format";
    throw new RecordError(`Message ${position} cannot be converted: ${reason}.`, {
      code: "unsupported_message",
      position,
    });
  }
  const said = toFields(plain);
  const whole = restore({
    merge: (base, part) => ({ ...base, ...part }),
    base: plain as unknown as Fields,
    extras,
    agrees: (candidate) =>
      candidate["role"] === plain.role && isMessage(candidate) && saysOneOf(fieldsFrom(candidate), said, fields),
  });
  const rest = difference(fields, fieldsFrom(whole));
  return (rest === undefined ? whole : { ...whole, langchain: rest }) as unknown as OpenAIMessage;
}

/**
 * Converts a message to LangChain's. Keeps what LangChain has no field for in `additional_kwargs` under
 * {@link openAIKey}.
 */
export function toLangChain(message: OpenAIMessage): BaseMessage {
  const { langchain = {}, ...plain } = message;
  const fields = toFields(plain);
  const said = (toOpenAI(fields) ?? {}) as Fields;
  const whole = restore({
    merge: mergeFields,
    base: fields,
    extras: langchain,
    agrees: (candidate) =>
      saysOneOf(attempt(() => toOpenAI(candidate)) as Fields | undefined, said, plain as unknown as Fields),
  });
  return attempt(() => keep(plain, whole)) ?? keep(plain, fields);
}

function keep(plain: OpenAIMessage, fields: Fields): BaseMessage {
  const extras = difference(plain as unknown as Fields, (toOpenAI(fields) ?? {}) as Fields);
  return messageOf(
    extras === undefined ? fields : mergeFields(fields, { additional_kwargs: { [openAIKey]: tagged(extras) } }),
  );
}

function takeExtras(fields: Fields): { fields: Fields; extras: Fields } {
  const { additional_kwargs: kwargs, ...others } = fields;
  if (!isPlainObject(kwargs) || !isPlainObject(kwargs[openAIKey])) {
    return { fields, extras: {} };
  }
  const { [openAIKey]: extras, ...rest } = kwargs;
  return {
    fields: Object.keys(rest).length > 0 ? { ...others, additional_kwargs: rest } : others,
    extras: untagged(extras) as Fields,
  };
}

function fieldsFrom(message: Fields): Fields {
  return toFields(message as unknown as OpenAIMessage);
}

interface Restoration {
  readonly base: Fields;
  readonly extras: Fields;
  readonly merge: (base: Fields, part: Fields) => Fields;
  readonly agrees: (candidate: Fields) => boolean;
}

/** The fields that decide whether two messages agree: all that one format reads of the other, or checks. */
const decisive: ReadonlySet<string> = new Set([
  "type",
  "role",
  "content",
  "name",
  "tool_calls",
  "invalid_tool_calls",
  "tool_call_id",
  "additional_kwargs",
  "refusal",
  "audio",
  "function_call",
  "reasoning_content",
  "annotations",
  "metadata",
  "timestamp",
  "langchain",
]);

/** Merges what was kept into the base; if it no longer agrees (the base was edited), merges only the parts that do. */
function restore({ base, extras, merge, agrees }: Restoration): Fields {
  const whole = merge(base, extras);
  if (Object.keys(extras).length === 0 || agrees(whole)) {
    return whole;
  }
  const entries = Object.entries(extras);
  // Other fields are merged together: one by one, the time would grow with the square of their number.
  const others = entries.filter(([key]) => !decisive.has(key));
  const parts = [...entries.filter(([key]) => decisive.has(key)).map((entry) => [entry]), others];
  return parts.reduce((result, part) => {
    const candidate = merge(result, Object.fromEntries(part));
    return agrees(candidate) ? candidate : result;
  }, base);
}

/** True if every field equals that of one of two others. */
function saysOneOf(candidate: Fields | undefined, one: Fields, other: Fields): boolean {
  const keys = new Set([...Object.keys(candidate ?? {}), ...Object.keys(one)]);
  return (
    candidate !== undefined &&
    [...keys].every((key) => sameAsJson(candidate[key], one[key]) || sameAsJson(candidate[key], other[key]))
  );
}

/** Drops inherited `additional_kwargs` if the type is not the one that the role suggests (a generic message). */
function mergeFields({ additional_kwargs: inherited, ...base }: Fields, part: Fields): Fields {
  const own = part["additional_kwargs"];
  const kwargs = part["type"] === undefined ? { ...(inherited as object), ...(own as object) } : own;
  const { additional_kwargs: _, ...merged } = { ...base, ...part };
  return isPlainObject(kwargs) && Object.keys(kwargs).length > 0 ? { ...merged, additional_kwargs: kwargs } : merged;
}

/** Returns what the original says and its round trip does not; undefined if nothing. Undone by {@link mergeFields}. */
function difference(original: Fields, back: Fields): Fields | undefined {
  const sameType = original["type"] === back["type"];
  const isPartial = (key: string) => key === "additional_kwargs" && sameType && isPlainObject(back[key]);
  const entries = Object.entries(original)
    .filter(([key, value]) => !sameAsJson(value, back[key]) || (key === "additional_kwargs" && !sameType))
    .map(([key, value]) => [key, isPartial(key) ? difference(value as Fields, back[key] as Fields) : value]);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Fields);
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/**
 * Returns the fields of a message that are not empty.
 *
 * @throws RecordError `unsupported_message`, with the position given.
 */
function storedFieldsOf(message: BaseMessage, position: number): Fields {
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
function messageOf({ type, ...data }: Fields): BaseMessage {
  return decodeRecord(JSON.stringify({ type, data, meta: { v: recordVersion } })).message;
}

/** Fields of answers that LangChain's chat models keep in `additional_kwargs` under the same names. */
const sharedKeys = ["refusal", "audio", "function_call", "reasoning_content", "annotations"] as const;
const developerMark = { __openai_role__: "developer" };

/** Converts a message in OpenAI's format to LangChain's fields, without what these cannot express. */
function toFields(message: OpenAIMessage): Fields {
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
function toOpenAI(source: Fields): OpenAIMessage | undefined {
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
function tagged<T extends object>(value: T): T {
  return tagValue(value, startWalk()) as T;
}

/** Copies data and replaces tagged values with their JSON form: a date with its text, bytes with their base64. */
function untagged(value: unknown): unknown {
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

/**
 * Converts LangChain content blocks to content parts: keeps OpenAI's own parts, and translates text and media of other
 * forms. Leaves out blocks that OpenAI's format has no part for, such as reasoning.
 */
function partsOfBlocks(blocks: readonly unknown[]): ContentPart[] {
  return blocks.flatMap((block) => partOf(block as Block) ?? []);
}

function partOf(block: Block): ContentPart | undefined {
  if (isContentPart(block)) {
    return block as unknown as ContentPart;
  }
  if (isResponsesText(block)) {
    return checked({ type: "text", text: block["text"] });
  }
  const media = mediaIn(block);
  if (media === undefined) {
    return block.type === "text-plain" ? checked({ type: "text", text: block["text"] }) : undefined;
  }
  if (typeof media.text === "string") {
    return checked({ type: "text", text: media.text });
  }
  const { fileId } = media;
  const image = () => imageBlock(media) ?? { type: "image_file", image_file: { file_id: fileId } };
  const part = media.kind === "image" ? image() : (audioPart(media) ?? filePart(media));
  return part && checked(part);
}

function checked(part: object): ContentPart | undefined {
  return isContentPart(part) ? (part as ContentPart) : undefined;
}

/** LangChain's two lists of calls, without empty lists. */
interface LangChainCalls {
  readonly tool_calls?: readonly object[];
  readonly invalid_tool_calls?: readonly object[];
}

/** Converts calls to LangChain's: valid if the arguments are a JSON object or blank (no arguments), else invalid. */
function callsToLangChain(calls: readonly MessageToolCall[] | undefined): LangChainCalls {
  const valid: object[] = [];
  const invalid: object[] = [];
  for (const call of calls ?? []) {
    const { name, text, args } = readCall(call);
    if (args === undefined) {
      invalid.push({ type: "invalid_tool_call", id: call.id, name, args: text, error: "Malformed args." });
    } else {
      valid.push({ type: "tool_call", id: call.id, name, args });
    }
  }
  return { ...(valid.length > 0 && { tool_calls: valid }), ...(invalid.length > 0 && { invalid_tool_calls: invalid }) };
}

function readCall(call: MessageToolCall): { name: string; text: string; args: Record<string, unknown> | undefined } {
  if (call.type === "custom") {
    return { name: call.custom.name, text: call.custom.input, args: { input: call.custom.input } };
  }
  const { name, arguments: text } = call.function;
  return { name, text, args: parseArguments(text) };
}

/**
 * Converts LangChain's calls to OpenAI's, the valid ones first; one that its adapter marks as that of a free-text tool
 * becomes a custom call. A missing id or name becomes the empty string.
 */
function callsToOpenAI({
  tool_calls: valid = [],
  invalid_tool_calls: invalid = [],
}: LangChainCalls): MessageToolCall[] {
  return [...valid, ...invalid].map((call) => {
    const { id, name, args, isCustomTool } = fieldsOf(call);
    const input = isCustomTool === true ? fieldsOf(args)["input"] : undefined;
    if (typeof input === "string") {
      return { id: textOf(id), type: "custom", custom: { name: textOf(name), input } };
    }
    const text = typeof args === "string" ? args : args === undefined || args === null ? "" : JSON.stringify(args);
    return { id: textOf(id), type: "function", function: { name: textOf(name), arguments: text } };
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
