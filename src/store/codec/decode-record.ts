import {
  AIMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { unknownKey } from "../contract/refusals.js";
import { parseSealed, sealedVersion } from "../sealed/keys/session-key.js";
import { RecordError } from "../../base/errors.js";
import { recordVersion, fieldsByType, requiredField, shapeProblem } from "./encode-message.js";
import type { RecordMeta, TurnOutput, MessageFields } from "./encode-message.js";
import { normalizeForeign } from "./foreign-record.js";
import { exactValueIn, fieldsOf, isRecord, valueIn } from "../../conversation/messages/message.js";
import { tagKey, untagValue } from "./tagged-values.js";

/** A stored message: the message, its id if the record holds one, and its token counts by counter id. */
export interface DecodedRecord {
  readonly message: BaseMessage;
  readonly id: string | undefined;
  readonly tokens: Readonly<Record<string, number>>;
}

/**
 * The message of a record, equal to the one that was encoded, as an instance of LangChain's class for its type.
 *
 * Also reads foreign formats: LangChain's `{ type, data }` from JavaScript and Python, its serialized objects, the
 * older `{ type, role, text }`, and flat `{ type, content }` and `{ role, content }`. A record without content is
 * corrupt.
 *
 * @throws RecordError with the position given: `corrupt`, or `unsupported_version` for a record of a later format;
 *   EncryptionError `unknown_key` for an encrypted one.
 */
export function decodeRecord(record: string, position?: number): DecodedRecord {
  const own = parseOwnRecord(record);
  if (own !== undefined) {
    return messageOf(own, position);
  }
  const sealed = parseSealed(record);
  if (sealed !== undefined) {
    throw unknownKey(undefined, sealed.keyName);
  }
  const stored = exactValueIn(record);
  if (stored === undefined) {
    throw corrupt(notJson(record), position);
  }
  return decodeStored(stored, { tagged: record.includes(tagEnd), position });
}

/**
 * The message of a parsed element, for histories written by other packages; reads the same formats as
 * {@link decodeRecord}. Takes ownership of the object: do not use it afterwards.
 *
 * @throws RecordError as {@link decodeRecord} does.
 */
export function reviveMessage(stored: unknown, position?: number): BaseMessage {
  return decodeStored(stored, { tagged: true, position }).message;
}

/**
 * The end of a tag's key. Without the opening quote, which is frequent in JSON and makes the search three times slower.
 */
const tagEnd = `${tagKey}"`;

/** Record prefixes, indexed by the type's first letter, which is unique. */
const beginnings: ({ readonly type: string; readonly text: string } | undefined)[] = [];
for (const type of fieldsByType.keys()) {
  beginnings[type.charCodeAt(0)] = { type, text: `{"type":"${type}","data":{` };
}
const typeAt = '{"type":"'.length;
/** How `meta` begins. */
const metaStart = `,"meta":{"v":${recordVersion}`;
/** A `meta` that holds nothing but the version, and the end of the record. */
const plainMeta = `${metaStart}}}`;
const timedStart = `${metaStart},"at":`;
const timeDigits = 13;
const timedLength = timedStart.length + timeDigits + "}}".length;

/** A record of this format, parsed: what its messages are made of. */
export interface ParsedRecord {
  readonly type: string;
  readonly data: Record<string, unknown>;
  /** True if the data may hold tagged values. */
  readonly isTagged: boolean;
  readonly tokens: Readonly<Record<string, number>>;
}

/**
 * Parses only the parts that differ between records, in two thirds of the time of parsing the whole text. Undefined for
 * any text not exactly as `encodeMessage` writes it. If the parts are JSON, so is the whole, unambiguously.
 */
export function parseOwnRecord(record: string): ParsedRecord | undefined {
  const beginning = beginnings[record.charCodeAt(typeAt)];
  // Same as startsWith and endsWith, which take three times as long.
  if (beginning === undefined || record.lastIndexOf(beginning.text, 0) !== 0) {
    return undefined;
  }
  const plainEnd = plainEndOf(record);
  const end = plainEnd ?? record.lastIndexOf(metaStart);
  const data = valueIn(record.slice(beginning.text.length - 1, end)) as Record<string, unknown> | undefined;
  const tokens = plainEnd === undefined ? tokensAt(record, end) : noTokens;
  return data === undefined || tokens === undefined
    ? undefined
    : { type: beginning.type, data, isTagged: record.includes(tagEnd), tokens };
}

/** The same with data of its own. */
export function copyOf(record: ParsedRecord): ParsedRecord {
  return { ...record, data: copyOfValue(record.data) as Record<string, unknown> };
}

/** A deep copy of a value that was parsed. */
function copyOfValue(value: unknown): unknown {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map(copyOfValue);
  }
  // Not by a spread: LangChain's constructors, which add fields, take twenty times as long on what one made.
  const copy: Record<string, unknown> = {};
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key];
    const own = typeof inner === "object" && inner !== null ? copyOfValue(inner) : inner;
    if (key === "__proto__") {
      // An assignment would set the prototype.
      Object.defineProperty(copy, key, { value: own, enumerable: true, configurable: true, writable: true });
    } else {
      copy[key] = own;
    }
  }
  return copy;
}

/** Index at which the data ends, for a record whose `meta` holds only version and time; else undefined. */
function plainEndOf(record: string): number | undefined {
  if (record.indexOf(plainMeta, record.length - plainMeta.length) >= 0) {
    return record.length - plainMeta.length;
  }
  const end = record.length - timedLength;
  const isTimed = record.indexOf(timedStart, end) === end && record.indexOf("}}", record.length - 2) >= 0;
  return isTimed && hasDigits(record, end + timedStart.length) ? end : undefined;
}

/** True if a timestamp's digits begin at `from`. A regular expression takes four times as long. */
function hasDigits(record: string, from: number): boolean {
  for (let index = from; index < from + timeDigits; index += 1) {
    const unit = record.charCodeAt(index);
    if (unit < 0x30 || unit > 0x39) {
      return false;
    }
  }
  return true;
}

/** Token counts of a record that ends, from `start` on, with exactly `,"meta":{…}}`. */
function tokensAt(record: string, start: number): Readonly<Record<string, number>> | undefined {
  const end = valueIn(`{${record.slice(start + 1)}`) as Record<string, unknown> | undefined;
  const meta = end?.["meta"];
  return isRecord(meta) && meta["v"] === recordVersion && Object.keys(end!).length === 1 ? tokensOf(meta) : undefined;
}

/** Shared value of records without counts. */
export const noTokens: Readonly<Record<string, number>> = Object.freeze({});

function tokensOf(meta: unknown): Readonly<Record<string, number>> {
  const tokens = isRecord(meta) ? meta["tokens"] : undefined;
  return isRecord(tokens)
    ? (Object.fromEntries(
        Object.entries(tokens).filter(([, count]) => typeof count === "number" && count >= 0),
      ) as Record<string, number>)
    : noTokens;
}

/**
 * The message of a parsed record. Takes ownership of its data.
 *
 * @throws RecordError `corrupt`.
 */
export function messageOf({ type, data, isTagged, tokens }: ParsedRecord, position?: number): DecodedRecord {
  try {
    const message = revive(type, data, isTagged);
    return { message, id: message.id, tokens };
  } catch (error) {
    throw corruptBy(error, position);
  }
}

function decodeStored(
  stored: unknown,
  { tagged, position }: { tagged: boolean; position: number | undefined },
): DecodedRecord {
  if (!isRecord(stored) || !(typeof stored["type"] === "string" || typeof stored["role"] === "string")) {
    throw corrupt("it has no type", position);
  }
  const own = versionOf(stored, position) !== undefined;
  try {
    const { type, data } = own ? ownParts(stored) : normalizeForeign(stored);
    const message = revive(type, data, own && tagged);
    return { message, id: message.id, tokens: own ? tokensOf(stored["meta"]) : noTokens };
  } catch (error) {
    throw corruptBy(error, position);
  }
}

function revive(type: string, data: Record<string, unknown>, tagged: boolean): BaseMessage {
  if (tagged) {
    untagFields(data);
  }
  const { id } = data;
  if (typeof id !== "string" || id === "") {
    delete data["id"];
  }
  return reviveFields(type, data);
}

function corruptBy(error: unknown, position: number | undefined): RecordError {
  return corrupt(error instanceof RangeError ? "it is nested too deeply" : (error as Error).message, position);
}

/** The format's version; undefined for a foreign record. */
function versionOf(stored: Record<string, unknown>, position: number | undefined): number | undefined {
  const meta = stored["meta"];
  const version = isRecord(meta) ? meta["v"] : undefined;
  if (version === undefined || version === recordVersion) {
    return version;
  }
  if (version === sealedVersion && "sealed" in stored) {
    throw corrupt("it names a key by a text that is no id of a key", position);
  }
  if (typeof version !== "number" || !Number.isInteger(version) || version < recordVersion) {
    throw corrupt("its version is not a number that any release wrote", position);
  }
  const place = position === undefined ? "" : ` at position ${position}`;
  throw new RecordError(
    `The record${place} has format version ${version}; this release reads up to ${recordVersion}. ` +
      "Update langchain-redis-memory.",
    position === undefined ? { code: "unsupported_version" } : { code: "unsupported_version", position },
  );
}

function ownParts({ type, data }: Record<string, unknown>): { type: string; data: Record<string, unknown> } {
  if (!isRecord(data)) {
    throw new Error("its data is not an object");
  }
  return { type: type as string, data };
}

function untagFields(data: Record<string, unknown>): void {
  for (const field of Object.keys(data)) {
    Object.defineProperty(data, field, {
      value: untagValue(data[field]),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
}

/** Why a text is no JSON: Python's json.dumps writes two words that JSON does not have. */
function notJson(record: string): string {
  const word = /[[:,]\s*-?(NaN|Infinity)\b/.exec(record)?.[1];
  return word === undefined ? "it is not JSON" : `it is not JSON, which has no ${word}`;
}

/** Without a cause: the errors of JSON.parse quote what they read. */
function corrupt(reason: string, position: number | undefined): RecordError {
  const place = position === undefined ? "" : ` at position ${position}`;
  return new RecordError(`The record${place} cannot be read: ${reason}.`, {
    code: "corrupt",
    ...(position === undefined ? {} : { position }),
  });
}

/**
 * Builds a message of a stored type from its fields; missing fields get LangChain's defaults. Takes ownership of the
 * object.
 *
 * @throws Error, naming the field, for an unknown type or a field that does not fit it.
 */
function reviveFields(type: string, data: Record<string, unknown>): BaseMessage {
  const shapes = shapesByType.get(type);
  if (shapes === undefined) {
    throw new Error("its type is not one that is stored");
  }
  checkShapes(data, shapes);
  const required = requiredField.get(type);
  if (required !== undefined && data[required] === undefined) {
    throw new Error(`its ${required} is missing`);
  }
  data["content"] ??= [];
  return constructors[type as keyof typeof constructors](data as MessageFields);
}

const shapesByType = new Map([...fieldsByType].map(([type, fields]) => [type, new Map(fields)]));

/** Checks only the fields that are present, which are few. */
function checkShapes(
  data: Readonly<Record<string, unknown>>,
  shapes: ReadonlyMap<string, Parameters<typeof shapeProblem>[0]>,
): void {
  for (const field in data) {
    const value = data[field];
    // Fast exit for the two fields that every message has: an id is not checked here, and text is always valid content.
    if (field === "id" || (field === "content" && typeof value === "string")) {
      continue;
    }
    const shape = shapes.get(field);
    const problem = shape === undefined || value === undefined ? undefined : shapeProblem(shape, value);
    if (problem !== undefined) {
      throw new Error(`its ${field} ${problem}`);
    }
  }
}

const constructors = {
  human: (fields: MessageFields) => new HumanMessage(fields as never),
  ai: (fields: MessageFields) => reviveAI(fields),
  system: (fields: MessageFields) => new SystemMessage(fields as never),
  tool: (fields: MessageFields) => new ToolMessage(fields as never),
  generic: (fields: MessageFields) => new ChatMessage(fields as never),
  function: (fields: MessageFields) => new FunctionMessage(fields as never),
};

/**
 * The constructor would add calls to v1 content, and parse raw calls again with warnings; for such messages the fields
 * are set afterwards. `lc_kwargs` serves LangChain's own serialization.
 */
function reviveAI(data: Partial<MessageFields>): AIMessage {
  if (
    data.response_metadata?.["output_version"] === undefined &&
    data.additional_kwargs?.["tool_calls"] === undefined &&
    data["contentBlocks"] === undefined
  ) {
    return new AIMessage(data as never);
  }
  const fields = { tool_calls: [], invalid_tool_calls: [], additional_kwargs: {}, response_metadata: {}, ...data };
  const message = new AIMessage({ content: "" });
  const { content, name, id, tool_calls, invalid_tool_calls, usage_metadata, additional_kwargs, response_metadata } =
    fields as unknown as AIMessage;
  Object.assign(message, {
    content,
    name,
    id,
    tool_calls,
    invalid_tool_calls,
    usage_metadata,
    additional_kwargs,
    response_metadata,
  });
  message.lc_kwargs = fields;
  return message;
}

/** Metadata of a record; empty if it has none or cannot be read. Parses the record's end only. */
export function metaOf(record: string): RecordMeta {
  const start = record.lastIndexOf(',"meta":{');
  if (start < 0 || record.endsWith(plainMeta)) {
    return noMeta;
  }
  const meta = fieldsOf(fieldsOf(valueIn(`{${record.slice(start + 1)}`))["meta"]);
  const [at, turn, output] = [timeIn(meta["at"]), checkedName(meta["turn"]), outputIn(meta["output"])];
  return { ...(at !== undefined && { at }), ...(turn !== undefined && { turn }), ...(output && { output }) };
}

/** The turn's name without parsing the rest: called for each record of a view. */
export function turnIn(record: string): string | undefined {
  const meta = record.endsWith(plainMeta) ? -1 : record.lastIndexOf(',"meta":{');
  const at = meta < 0 ? -1 : record.indexOf(turnField, meta);
  return at < 0
    ? undefined
    : checkedName(record.slice(at + turnField.length, record.indexOf('"', at + turnField.length)));
}

const turnField = '"turn":"';
const noMeta: RecordMeta = Object.freeze({});

function timeIn(at: unknown): number | undefined {
  return Number.isSafeInteger(at) && (at as number) >= 0 ? (at as number) : undefined;
}

function checkedName(turn: unknown): string | undefined {
  return typeof turn === "string" && /^[\w-]{14}$/.test(turn) ? turn : undefined;
}

const outputKinds: ReadonlySet<unknown> = new Set(["message", "messages", "text", "conversation", "json"]);

function outputIn(output: unknown): TurnOutput | undefined {
  if (!isRecord(output) || !Number.isSafeInteger(output["count"]) || (output["count"] as number) < 1) {
    return undefined;
  }
  const { as, count, key } = output as unknown as TurnOutput;
  return outputKinds.has(as) ? { as, count, ...(typeof key === "string" && { key }) } : undefined;
}
