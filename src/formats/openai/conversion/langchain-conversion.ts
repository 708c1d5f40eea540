import type { BaseMessage } from "@langchain/core/messages";
import { RecordError } from "../../../base/errors.js";
import { sameAsJson } from "../../../base/json-text.js";
import { isPlainObject } from "../../../base/json-value.js";
import { fieldsOf, messageOf, tagged, toFields, toOpenAI, untagged, type Fields } from "./langchain-fields.js";
import { isMessage } from "../message-schema.js";
import type { OpenAIMessage } from "../message.js";

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
  const { fields, extras } = takeExtras(fieldsOf(message, position));
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
