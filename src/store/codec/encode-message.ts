import type { BaseMessage } from "@langchain/core/messages";
import { RecordError } from "../../base/errors.js";
import { shortHash, timeOrderedIds } from "../../base/ids.js";
import { sortKeys } from "../../base/json-text.js";
import { isRecord, ownIdOf } from "../../conversation/messages/message.js";
import { startWalk, tagValue, type Walk } from "./tagged-values.js";

/** An encoded message: its id, a digest of its content without the id (8 characters of base64url), and the record. */
interface EncodedRecord {
  readonly id: string;
  readonly digest: string;
  readonly record: string;
}

/** Immutable snapshot of a message's content as JSON text, before it has an id. */
export interface EncodedContent {
  readonly type: string;
  readonly digest: string;
  /** Members of the JSON object `data`, without the id. */
  readonly data: string;
}

/**
 * Form of a turn's answer, from which a retry's output is rebuilt: `message`, `messages`, `text`, or `conversation`
 * (the input followed by the answer); with `key`, an object with this value under its only key. The answer is the
 * turn's last `count` messages.
 */
export interface TurnOutput {
  /** Form in which the run returned its answer. */
  readonly as: "message" | "messages" | "text" | "conversation" | "json";
  readonly count: number;
  /** Key of the answer in the returned object; undefined if the run returned none. */
  readonly key?: string;
}

/** Metadata of a record, not part of its digest. */
export interface RecordMeta {
  /** Time of the write, in milliseconds since 1970; older records have none. */
  readonly at?: number;
  /** Name of the message's turn, see {@link turnNameOf}. */
  readonly turn?: string;
  /** On the last record of a turn: the form of its answer. */
  readonly output?: TurnOutput;
  /** Write only: the owner's mark, last in `meta`; `ownerMarkIn` reads it. */
  readonly owner?: string;
}

/** Record fields besides the message. */
interface EncodeOptions extends RecordMeta {
  /** Id to store the message under; replaces the message's own. */
  readonly id: string;
  readonly tokens?: Readonly<Record<string, number>>;
}

/** Version of the record format; raised only when older readers would misread a record. */
export const recordVersion = 1;

/**
 * Message types of the record format. A developer message is a system message with `additional_kwargs.__openai_role__`.
 */
type StoredType = "human" | "ai" | "system" | "tool" | "generic" | "function";

/** Fields of a stored message, named as in LangChain's own `{ type, data }`. */
export interface MessageFields {
  content: string | object[];
  additional_kwargs: Record<string, unknown>;
  response_metadata: Record<string, unknown>;
  [field: string]: unknown;
}

type Shape = "content" | "text" | "record" | "records" | "any";

const common: readonly (readonly [string, Shape])[] = [
  ["content", "content"],
  ["name", "text"],
];
const details: readonly (readonly [string, Shape])[] = [
  ["additional_kwargs", "record"],
  ["response_metadata", "record"],
];
const plain = [...common, ...details];

/** The fields of each type, in the order in which records hold them. */
export const fieldsByType: ReadonlyMap<string, readonly (readonly [field: string, shape: Shape])[]> = new Map([
  ["human", plain],
  ["system", plain],
  ["function", plain],
  [
    "ai",
    [...common, ["tool_calls", "records"], ["invalid_tool_calls", "records"], ["usage_metadata", "record"], ...details],
  ],
  [
    "tool",
    [...common, ["tool_call_id", "text"], ["status", "text"], ["artifact", "any"], ["metadata", "record"], ...details],
  ],
  ["generic", [...common, ["role", "text"], ...details]],
] satisfies [StoredType, (readonly [string, Shape])[]][]);

/** Required field by message type. */
export const requiredField: ReadonlyMap<string, string> = new Map([
  ["tool", "tool_call_id"],
  ["generic", "role"],
]);

/** Error text, as the end of a sentence, for a value of the wrong shape; else undefined. */
export function shapeProblem(shape: Shape, value: unknown): string | undefined {
  switch (shape) {
    case "text":
      return typeof value === "string" ? undefined : "must be a string";
    case "record":
      return isRecord(value) ? undefined : "must be an object";
    case "records":
      return Array.isArray(value) && value.every(isRecord) ? undefined : "must be an array of objects";
    case "content":
      return typeof value === "string" || (Array.isArray(value) && value.every(isRecord))
        ? undefined
        : "must be a string or an array of content blocks";
    case "any":
      return undefined;
  }
}

/**
 * The record of a message: `{"type":…,"data":{…},"meta":{"v":1,"at"?:…,"tokens"?:{…},"turn"?:…,"owner"?:…}}`, which
 * LangChain's own `mapStoredMessagesToChatMessages` reads too.
 *
 * Encodes the current fields, not the constructor's arguments, and does not modify the message. Empty fields are
 * omitted. A chunk is stored as its message type, without `tool_call_chunks`; content blocks become `content`.
 * Constructor arguments that are not fields of the message are kept too (in `lc_kwargs`). Values that JSON cannot hold
 * are tagged, see `tagged-values.ts`. The order of keys is kept.
 *
 * @throws RecordError `unsupported_message` for a `RemoveMessage`, unknown types, and values that cannot be stored; the
 *   error names the value's path.
 */
export function encodeMessage(message: BaseMessage, options: EncodeOptions): EncodedRecord {
  return recordOf(encodeContent(message), options);
}

/** First half of {@link encodeMessage}: the part that depends on the message only. */
export function encodeContent(message: BaseMessage): EncodedContent {
  const { type, json, canonical } = messageJson(message);
  return { type, digest: digestOf(type, canonical), data: json + extrasOf(message) };
}

/** Second half of {@link encodeMessage}: the record of encoded content. */
export function recordOf({ type, digest, data }: EncodedContent, options: EncodeOptions): EncodedRecord {
  const { id } = options;
  const record = `{"type":"${type}","data":{${data},"id":${JSON.stringify(id)}},"meta":${metaJson(options)}}`;
  return { id, digest, record };
}

function metaJson({ at, tokens, turn, output, owner }: EncodeOptions): string {
  // The owner's mark must be last: scripts read it at the end of the record.
  return JSON.stringify({ v: recordVersion, at, tokens, turn, output, owner });
}

/**
 * Digest of a message's content (8 characters of base64url), independent of the id and of key order; equal to the
 * digest of the message's record.
 *
 * @throws RecordError `unsupported_message` as {@link encodeMessage} does.
 */
export function digestMessage(message: BaseMessage): string {
  const { type, canonical } = messageJson(message);
  return digestOf(type, canonical);
}

function digestOf(type: string, canonical: string): string {
  return shortHash(`${type}{${canonical}}`, 8);
}

/** The message's fields as members of a JSON object, as given and with all keys sorted. */
interface MessageJson {
  readonly type: string;
  readonly json: string;
  readonly canonical: string;
}

/** Field by field: few have keys that need sorting, and the long ones never. */
function messageJson(message: BaseMessage): MessageJson {
  const type = typeOf(message);
  const walk = startWalk();
  let json = "";
  let canonical = "";
  for (const { field, shape, required } of fieldsOf.get(type)!) {
    const value = readField(message, field);
    if (value === undefined) {
      if (required) {
        throw unsupportedMessage(`a message of type "${type}" must have a ${field}`);
      }
      continue;
    }
    const stored = typeof value === "string" ? value : tagField(field, value, walk);
    const problem = shapeProblem(shape, stored);
    if (problem !== undefined) {
      throw unsupportedMessage(`${field} of a message of type "${type}" ${problem}`);
    }
    if (isEmpty(field, stored, message)) {
      continue;
    }
    const start = json === "" ? `"${field}":` : `,"${field}":`;
    const text = JSON.stringify(stored);
    json += start + text;
    canonical += start + (walk.sorted ? text : JSON.stringify(sortKeys(stored)));
    walk.sorted = true;
  }
  return { type, json, canonical };
}

const fieldsOf = new Map(
  [...fieldsByType].map(([type, fields]) => [
    type,
    fields.map(([field, shape]) => ({ field, shape, required: requiredField.get(type) === field })),
  ]),
);

function typeOf(message: BaseMessage): string {
  const type: unknown = typeof message?.getType === "function" ? message.getType() : undefined;
  if (type === "remove") {
    throw unsupportedMessage("a RemoveMessage removes messages and cannot be stored; use rewind() or clear() instead");
  }
  if (typeof type !== "string" || !fieldsByType.has(type)) {
    throw unsupportedMessage(
      typeof type === "string"
        ? `messages of type "${type.slice(0, 40)}" cannot be stored; use a message class of @langchain/core`
        : "it is not a LangChain message; use a message class of @langchain/core",
    );
  }
  return type;
}

/** Upstream's constructors turn missing content into an empty array, and some models answer with one bare block. */
function readField(message: BaseMessage, field: string): unknown {
  const value = (message as unknown as Record<string, unknown>)[field];
  if (field === "content") {
    return isRecord(value) ? [value] : (value ?? []);
  }
  return value === null && field !== "artifact" ? undefined : value;
}

function tagField(field: string, value: unknown, walk: Walk): unknown {
  try {
    return tagValue(value, walk);
  } catch (error) {
    throw unsupportedField(field, walk, error);
  }
}

/** An empty list of calls is written if there are raw calls: upstream would parse those instead. */
function isEmpty(field: string, value: unknown, message: BaseMessage): boolean {
  switch (field) {
    case "tool_calls":
      return (
        (value as unknown[]).length === 0 && (message.additional_kwargs?.["tool_calls"] ?? undefined) === undefined
      );
    case "invalid_tool_calls":
      return (value as unknown[]).length === 0;
    case "additional_kwargs":
    case "response_metadata":
      return isEmptyRecord(value as Record<string, unknown>);
    default:
      return false;
  }
}

function isEmptyRecord(value: Record<string, unknown>): boolean {
  for (const key of Object.keys(value)) {
    if (value[key] !== undefined) {
      return false;
    }
  }
  return true;
}

/**
 * Constructor arguments that are not fields of the message, as further JSON members with a leading comma; `""` if there
 * are none.
 */
function extrasOf(message: BaseMessage): string {
  const kwargs: unknown = message.lc_kwargs;
  if (!isRecord(kwargs)) {
    return "";
  }
  let extras: [string, unknown][] | undefined;
  for (const key of Object.keys(kwargs)) {
    const value = kwargs[key];
    if (!knownArguments.has(key) && !key.startsWith("lc_") && value !== undefined && typeof value !== "function") {
      (extras ??= []).push([key, tagField(key, value, startWalk())]);
    }
  }
  return extras === undefined ? "" : `,${JSON.stringify(Object.fromEntries(extras)).slice(1, -1)}`;
}

const knownArguments: ReadonlySet<string> = new Set([
  ...[...fieldsByType.values()].flatMap((fields) => fields.map(([field]) => field)),
  "id",
  "type",
  "contentBlocks",
  "content_blocks",
  "tool_call_chunks",
]);

function unsupportedField(field: string, { problem }: Walk, error: unknown): RecordError {
  if (problem === undefined) {
    return unsupportedMessage(`${field} cannot be read`, error);
  }
  // Keys of arguments are a model's words, and no error shows any.
  const args = problem.path.indexOf("args");
  const shown = args === -1 ? problem.path : [...problem.path.slice(0, args + 1), "…"];
  const path = shown.map((key) => (typeof key === "number" ? `[${key}]` : `.${key.slice(0, 40)}`));
  return unsupportedMessage(`${(field + path.join("")).slice(0, 200)} ${problem.reason}`);
}

function unsupportedMessage(reason: string, cause?: unknown): RecordError {
  return new RecordError(`The message cannot be stored: ${reason}.`, { code: "unsupported_message", cause });
}

/** The name of a turn in Redis: a hash of its id, 14 characters of base64url. */
export function turnNameOf(turnId: string): string {
  return shortHash(`\u0000turn\u0000${turnId}`, 14);
}

/** Ids of messages without one, kept per object (weakly): a retry with the same objects is idempotent. */
const given = new WeakMap<BaseMessage, string>();
const createId = timeOrderedIds();

/**
 * The message's own id; else `<turnId>-<index>` if there is a turn id, the same for each retry; else a unique id,
 * stable per object. Does not modify the message.
 */
export function messageIdOf(
  message: BaseMessage,
  place?: { readonly turnId?: string; readonly index: number },
): string {
  const own = ownIdOf(message);
  if (own !== undefined || place?.turnId !== undefined) {
    return own ?? `${place!.turnId}-${place!.index}`;
  }
  let id = given.get(message);
  if (id === undefined) {
    id = createId(Date.now());
    given.set(message, id);
  }
  return id;
}
