import { coerceMessageLikeToMessage, type BaseMessage, type BaseMessageLike } from "@langchain/core/messages";
import { ConfigurationError } from "../../base/errors.js";

/** The fields of an object whose shape is not known. */
export type Fields = Readonly<Record<string, unknown>>;

/** True for every object but an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of a value; none if it is not a record. */
export function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** The records in an untrusted list; none if it is not a list. */
export function recordsIn<T extends object>(list: readonly T[] | undefined): readonly T[] {
  if (!Array.isArray(list)) {
    return [];
  }
  const values = list as readonly T[];
  return values.every(isRecord) ? values : values.filter(isRecord);
}

/** The value if it is a string. */
export function stringIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value in a JSON text; undefined if it is not JSON. */
export function valueIn(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * {@link valueIn} for JSON of other programs: integers that JavaScript would round, such as 64-bit ids, are strings of
 * their digits.
 */
export function exactValueIn(json: string): unknown {
  const value = valueIn(json);
  return value === undefined || !/\d{16}/.test(json) ? value : JSON.parse(json.replace(stringOrInteger, exactly));
}

/** Strings and long integers of valid JSON; the digits of a fraction or exponent are no integer. */
const stringOrInteger = /"(?:[^"\\]+|\\.)*"|(?<![\w.+-])-?\d{16,}(?![\d.eE])/g;

function exactly(token: string): string {
  return token.startsWith('"') || String(Number(token)) === token ? token : `"${token}"`;
}

/** A record without some keys; itself where it has a value under none of them. */
export function without<T extends Fields>(record: T, ...keys: readonly string[]): T {
  if (keys.every((key) => record[key] === undefined)) {
    return record;
  }
  return Object.fromEntries(Object.entries(record).filter(([name]) => !keys.includes(name))) as T;
}

/** Place of a value in the input, for error messages. */
export interface LikePlace {
  readonly option: string;
  readonly list: string;
  readonly index: number;
}

/**
 * Converts a string, a pair of role and text, or an object with a role to a message, as LangChain does. A message is
 * returned unchanged.
 *
 * @throws ConfigurationError for other values, without LangChain's error as cause, because that quotes the value.
 */
export function toMessage(like: unknown, { option, list, index }: LikePlace): BaseMessage {
  try {
    return coerceMessageLikeToMessage(like as BaseMessageLike);
  } catch {
    throw new ConfigurationError(option, `${list}[${index}] is not a message.`);
  }
}
