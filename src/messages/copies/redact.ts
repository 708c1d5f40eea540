import type { BaseMessage } from "@langchain/core/messages";
import { ConfigurationError } from "../../base/errors.js";
import { copyWith } from "../change-message.js";
import { callsOf } from "../calls.js";
import { type Fields, isRecord } from "../values.js";
import { itemIdKeys, signaturesKey } from "./answer-fields.js";
import { editMessage } from "./edit-message.js";
import { mapSame, withFields } from "./edits.js";
import { signatureKey } from "./thoughts.js";

/** Returns a text without its private parts. */
export type Redaction = (text: string) => string;

const defaultMark = "[redacted]";

/**
 * Creates a `beforeStore` function that replaces every match of a pattern, or applies a text function, in all content
 * of a message: text, thoughts and call arguments in all their copies, tool results with their artifacts, and all other
 * texts of the message. A signed thought that matches is left out. Names, ids, types, signatures and encoded files stay
 * as they are.
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
  const clean = cleaner(pattern, mark);
  return (message) => {
    const calls = callsOf(message).map(({ args }) => cleanArguments(args, clean));
    const edited = editMessage(message, {
      text: clean,
      thoughts: clean,
      calls: (_, place) => ({ args: calls[place] as Record<string, unknown> | string }),
    });
    return withCleanRest(edited, clean);
  };
}

function cleaner(pattern: string | RegExp | Redaction, mark: string): Redaction {
  if (typeof pattern === "function") {
    return pattern;
  }
  if (pattern === "" || !(typeof pattern === "string" || pattern instanceof RegExp)) {
    throw new ConfigurationError("pattern", "redact: the pattern must be a text, a regular expression or a function.");
  }
  const everywhere =
    typeof pattern === "string" || pattern.global ? pattern : new RegExp(pattern.source, `${pattern.flags}g`);
  return (text) => text.replaceAll(everywhere, () => mark);
}

/** Arguments that cannot be read are a text. */
function cleanArguments(args: unknown, clean: Redaction): unknown {
  return typeof args === "string" ? clean(args) : cleanValue(args, clean);
}

/** Fields that tell no text: identifiers, proofs of a provider, and encoded files. */
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
  "encrypted_index",
  "data",
  "bytes",
  ...itemIdKeys,
  signaturesKey,
]);

/** The value with every text in it clean; the same value if all are. */
function cleanValue(value: unknown, clean: Redaction): unknown {
  if (typeof value === "string") {
    return value.startsWith("data:") ? value : cleanText(value, clean);
  }
  if (Array.isArray(value)) {
    return mapSame(value as unknown[], (element) => [cleanValue(element, clean)]);
  }
  return isRecord(value) && isPlain(value) ? cleanRecord(value, clean) : value;
}

/** A text; one that is JSON is read first, because JSON may write what matches in other characters. */
function cleanText(text: string, clean: Redaction): string {
  if (!/^\s*[{[]/.test(text)) {
    return clean(text);
  }
  try {
    const value: unknown = JSON.parse(text);
    const cleaned = cleanValue(value, clean);
    return clean(cleaned === value ? text : JSON.stringify(cleaned));
  } catch {
    return clean(text);
  }
}

function cleanRecord<T extends Fields>(record: T, clean: Redaction): T {
  return withFields(
    record,
    Object.fromEntries(
      Object.entries(record).flatMap(([key, value]) => (keptKeys.has(key) ? [] : [[key, cleanValue(value, clean)]])),
    ),
  );
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
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
  const given = cleanArgumentsOfClass(message.lc_kwargs as Fields, own, clean);
  const changed = furtherFields.flatMap((key) => {
    const cleaned = cleanValue(own[key], clean);
    return cleaned === own[key] ? [] : [[key, cleaned] as const];
  });
  if (changed.length === 0 && given === message.lc_kwargs) {
    return message;
  }
  const copy = copyWith(message, Object.fromEntries(changed));
  copy.lc_kwargs = withFields(copy.lc_kwargs as Fields, given === message.lc_kwargs ? {} : given);
  return copy;
}

/** Arguments of the constructor that are no fields are stored too; those that are fields may be older than these. */
function cleanArgumentsOfClass(given: Fields, own: Fields, clean: Redaction): Fields {
  const extras = Object.entries(given).filter(([key]) => !Object.hasOwn(own, key) && !keptKeys.has(key));
  return withFields(given, Object.fromEntries(extras.map(([key, value]) => [key, cleanValue(value, clean)])));
}
