import type { BaseMessage } from "@langchain/core/messages";
import { types } from "node:util";
import { ConfigurationError, RecordError } from "../../../base/errors.js";
import { copyWith } from "../change-message.js";
import { callsOf } from "../content.js";
import { speakerOf, type Fields, stringIn } from "../message.js";
import { editMessage } from "./edit-message.js";
import { withFields, plainAnswer, itemIdKeys, signaturesKey, mapSame } from "./plain-answer.js";
import { isPlainObject } from "../../../base/json.js";
import { signatureKey } from "./thoughts.js";

const defaultMark = "[redacted]";

/**
 * Creates a `beforeStore` function that replaces every match of a pattern, or applies a text function, in all content
 * of a message: text, thoughts and call arguments in all their copies, tool results with their artifacts, and all other
 * texts of the message. An answer that matches becomes plain, as by {@link editMessage}. Arguments and artifacts are an
 * application's data: numbers and names of properties are cleaned too, each value by itself, and instances of classes
 * become plain objects where something matches. Names, ids and types of messages and blocks, signatures and encoded
 * files stay as they are.
 *
 * @param mark Replacement for each match of a pattern; a function returns the new text itself.
 * @throws ConfigurationError for a pattern that is neither a string, a regular expression nor a function.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { redact } from "langchain-redis-memory/structure";
 *
 * const beforeStore = redact(/\b\d{16}\b/g, "[card]");
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", beforeStore });
 */
export function redact(
  pattern: string | RegExp | Redaction,
  mark: string = defaultMark,
): <M extends BaseMessage>(message: M) => M {
  const cleanAny = cleaner(pattern, mark);
  return (message) => {
    const clean = once(cleanAny);
    const calls = callsOf(message).map(({ args }) => cleanArguments(args, clean));
    const edited = editMessage(message, {
      text: clean,
      thoughts: clean,
      calls: (_, place) => ({ args: calls[place] as Record<string, unknown> | string }),
    });
    const cleaned = withCleanRest(edited, clean);
    return cleaned === edited || speakerOf(message) !== "assistant" ? cleaned : plainAnswer(cleaned);
  };
}

function cleaner(pattern: string | RegExp | Redaction, mark: string): Redaction {
  if (typeof pattern === "function") {
    return pattern;
  }
  if (pattern === "" || !(typeof pattern === "string" || pattern instanceof RegExp)) {
    throw new ConfigurationError("pattern", "redact: the pattern must be a text, a regular expression or a function.");
  }
  // Everywhere, whatever its flags: a sticky pattern would match at the beginning only.
  const everywhere =
    typeof pattern === "string" ? pattern : new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, "")}g`);
  return (text) => text.replaceAll(everywhere, () => mark);
}

/** Applied once to each text, also where several copies hold it: a function may change what it made before. */
function once(clean: Redaction): Redaction {
  const made = new Set<string>();
  return (text) => {
    if (made.has(text)) {
      return text;
    }
    const cleaned = clean(text);
    made.add(cleaned);
    return cleaned;
  };
}

/** Arguments that cannot be read are a text. */
function cleanArguments(args: unknown, clean: Redaction): unknown {
  return typeof args === "string" ? clean(args) : cleanData(args, clean);
}

/** Fields of a message that may hold further texts: server steps, sources, results, artifacts. */
const furtherFields = [
  "content",
  "additional_kwargs",
  "response_metadata",
  "artifact",
  "metadata",
  "invalid_tool_calls",
];

function withCleanRest<M extends BaseMessage>(message: M, clean: Redaction): M {
  const own = message as unknown as Fields;
  const kwargs = cleanArgumentsOfClass(message.lc_kwargs as Fields, own, clean);
  const changed = furtherFields.flatMap((key) => {
    const cleaned = key === "artifact" ? cleanData(own[key], clean) : cleanField(own[key], clean);
    return cleaned === own[key] ? [] : [[key, cleaned] as const];
  });
  if (changed.length === 0 && kwargs === message.lc_kwargs) {
    return message;
  }
  const copy = copyWith(message, Object.fromEntries(changed));
  copy.lc_kwargs = withFields(copy.lc_kwargs as Fields, kwargs === message.lc_kwargs ? {} : kwargs);
  return copy;
}

/** Arguments of the constructor that are no fields are stored too; those that are fields may be older than these. */
function cleanArgumentsOfClass(kwargs: Fields, own: Fields, clean: Redaction): Fields {
  const extras = Object.entries(kwargs).filter(([key, value]) => !Object.hasOwn(own, key) && !isKept(key, value));
  return withFields(kwargs, Object.fromEntries(extras.map(([key, value]) => [key, cleanField(value, clean)])));
}

/** Returns a text without its private parts. */
export type Redaction = (text: string) => string;

interface Walk {
  readonly clean: Redaction;
  /** True in data of an application: no name has a meaning there, and a number may be what is private. */
  readonly isData: boolean;
  readonly depth: number;
}

/** The nesting above which a record is refused. */
const maxDepth = 500;

/** Fields of blocks whose text is no content: identifiers, and proofs of a provider. */
const keptKeys: ReadonlySet<string> = new Set([
  "type",
  "id",
  "call_id",
  "tool_call_id",
  "tool_use_id",
  "toolCallId",
  "toolUseId",
  "name",
  "role",
  "signature",
  signatureKey,
  "encrypted_content",
]);

/** Fields of blocks that hold an encoded file, or a thought that only its provider can read. */
const encodedKeys: ReadonlySet<string> = new Set(["data", "bytes"]);

/** Maps from the id of a call to another id, or to its signature. */
const keptMaps: ReadonlySet<string> = new Set([...itemIdKeys, signaturesKey]);

/** Fields of blocks and raw calls that hold data of an application. */
const dataKeys: ReadonlySet<string> = new Set(["args", "arguments", "input", "parameters", "response", "json"]);

/** Their JSON is that of arguments, which other copies hold as an object: both must stay the same. */
const argumentKeys: ReadonlySet<string> = new Set(["args", "arguments", "input"]);

/** Names of the field that tells an encoded file's type. */
const fileTypeKeys = ["mime_type", "mimeType", "media_type", "mediaType"];
/** Base64 that is too long for a number of a card or a person, as that of any file is. */
const encoded = /^[\w+/-]{64,}={0,2}$/;
/** Base64 of a data URL, which has no characters of words in URLs. */
const encodedUrl = /^[A-Za-z0-9+/]{64,}={0,2}$/;

/** True for a text or map that {@link cleanField} leaves as it is under this name. */
function isKept(key: string, value: unknown): boolean {
  if (typeof value !== "string") {
    return keptMaps.has(key);
  }
  return keptKeys.has(key) || (encodedKeys.has(key) && encoded.test(value));
}

/** A message's field with every text in it clean; the same value if all are. */
function cleanField(value: unknown, clean: Redaction): unknown {
  return cleanValue(value, { clean, isData: false, depth: 0 });
}

/** An application's data with every text, number and property name in it clean; the same value if all are. */
function cleanData(value: unknown, clean: Redaction): unknown {
  return cleanValue(value, { clean, isData: true, depth: 0 });
}

function cleanValue(value: unknown, walk: Walk): unknown {
  switch (typeof value) {
    case "string":
      return isDataUrl(value, walk.clean) ? value : cleanText(value, walk.clean);
    case "number":
    case "bigint":
      return walk.isData ? cleanNumber(value, walk.clean) : value;
    case "object":
      return value === null ? null : cleanObject(value, { ...walk, depth: walk.depth + 1 });
    default:
      return value;
  }
}

/** True for an encoded file whose type, in front, is clean: any text may begin like one. */
function isDataUrl(text: string, clean: Redaction): boolean {
  const front = /^data:[^\s,]*;base64,/.exec(text)?.[0];
  return front !== undefined && encodedUrl.test(text.slice(front.length)) && clean(front) === front;
}

function cleanNumber(number: number | bigint, clean: Redaction): unknown {
  const text = String(number);
  const cleaned = clean(text);
  return cleaned === text ? number : cleaned;
}

/** A text, and the values in it if it is JSON, which may write what matches in other characters. */
function cleanText(text: string, clean: Redaction): string {
  const cleaned = clean(text);
  const json = cleanJson(cleaned, clean);
  return json === undefined || json === cleaned ? cleaned : clean(json);
}

/** The JSON with every value clean; undefined for another text. */
function cleanJson(text: string, clean: Redaction): string | undefined {
  if (!/^\s*[{[]/.test(text)) {
    return undefined;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const cleaned = cleanData(value, clean);
  return cleaned === value ? text : JSON.stringify(cleaned);
}

function cleanObject(object: object, walk: Walk): unknown {
  if (walk.depth > maxDepth) {
    const reason = `a value is circular, or nested deeper than ${maxDepth} levels`;
    throw new RecordError(`The message cannot be redacted: ${reason}.`, { code: "unsupported_message" });
  }
  if (Array.isArray(object)) {
    return mapSame(object as unknown[], (element) => [cleanValue(element, walk)]);
  }
  if (isPlainObject(object) && typeof object["toJSON"] !== "function") {
    return walk.isData ? cleanDataRecord(object, walk) : cleanFieldRecord(object, walk);
  }
  return cleanInstance(object, walk);
}

function cleanFieldRecord(record: Fields, walk: Walk): Fields {
  const cleaned = Object.entries(record).map(([key, value]) => [key, cleanFieldOf(key, value, walk)]);
  return withFields(record, Object.fromEntries(cleaned) as Fields);
}

function cleanFieldOf(key: string, value: unknown, walk: Walk): unknown {
  if (isKept(key, value)) {
    return value;
  }
  if (argumentKeys.has(key) && typeof value === "string") {
    return cleanJson(value, walk.clean) ?? cleanValue(value, walk);
  }
  return cleanValue(value, dataKeys.has(key) ? { ...walk, isData: true } : walk);
}

function cleanDataRecord(record: Fields, walk: Walk): Fields {
  const isFile = isDataOfFile(record);
  let isSame = true;
  const copy = new Map<string, unknown>();
  for (const [key, value] of Object.entries(record)) {
    const cleaned = isFile && key === "data" ? value : cleanValue(value, walk);
    let name = walk.clean(key);
    isSame &&= cleaned === value && name === key;
    while (name !== key && (copy.has(name) || Object.hasOwn(record, name))) {
      name += " ";
    }
    copy.set(name, cleaned);
  }
  return isSame ? record : Object.fromEntries(copy);
}

function isDataOfFile(record: Fields): boolean {
  const { data } = record;
  const isTyped = fileTypeKeys.some((key) => /^[\w.+-]+\/[\w.+-]+$/.test(stringIn(record[key]) ?? ""));
  return isTyped && typeof data === "string" && encoded.test(data);
}

/** An instance of a class, cleaned as the codec stores it: by its own JSON, or its own properties. */
function cleanInstance(object: object, walk: Walk): unknown {
  if (types.isDate(object) || ArrayBuffer.isView(object) || types.isAnyArrayBuffer(object)) {
    return object;
  }
  const own = ownForm(object);
  const cleaned = cleanValue(own, walk);
  return cleaned === own ? object : cleaned;
}

function ownForm(object: object): unknown {
  if (typeof (object as { toJSON?: unknown }).toJSON === "function") {
    return (object as { toJSON(): unknown }).toJSON();
  }
  if (types.isMap(object) || types.isSet(object)) {
    return [...(object as Iterable<unknown>)];
  }
  if (types.isNativeError(object)) {
    const { name, message, cause } = object;
    return { name, message, cause };
  }
  return types.isBoxedPrimitive(object) ? object.valueOf() : { ...object };
}
