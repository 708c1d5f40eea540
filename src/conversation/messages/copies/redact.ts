import type { BaseMessage } from "@langchain/core/messages";
import { ConfigurationError } from "../../../base/errors.js";
import { copyWith } from "../change-message.js";
import { callsOf } from "../calls.js";
import { speakerOf } from "../roles.js";
import type { Fields } from "../values.js";
import { cleanData, cleanField, isKept, type Redaction } from "./clean-value.js";
import { editMessage } from "./edit-message.js";
import { withFields } from "./edits.js";
import { plainAnswer } from "./plain-answer.js";

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
