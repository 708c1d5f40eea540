import { types } from "node:util";
import { ConfigurationError } from "./errors.js";

/** Maximum nesting: far above what messages need, far below what exhausts the stack. */
const maxDepth = 200;
/** Maximum number of values in a snapshot. */
const maxValues = 100_000;

/**
 * Parses JSON.
 *
 * @throws ConfigurationError naming `owner` and the option `text`, without showing the text.
 */
export function parseJson(text: string, owner: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ConfigurationError("text", `${owner}: option "text" must be valid JSON.`);
  }
}

/**
 * Copies JSON data deeply, without properties that are undefined.
 *
 * @throws ConfigurationError naming the field of a value that JSON cannot express (a date, a function, `NaN`, a
 *   circular reference).
 */
export function copyJson<T>(value: T, place = ""): T {
  return copy(value, place, 0) as T;
}

function copy(value: unknown, place: string, depth: number): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") {
    return value;
  }
  if (typeof value === "number" && Number.isFinite(value)) {
    return value === 0 ? 0 : value;
  }
  if (depth > maxDepth) {
    const start = `${place.slice(0, 80)}…`;
    throw new ConfigurationError(start, `"${start}" is circular or nested deeper than ${maxDepth} levels.`);
  }
  if (Array.isArray(value)) {
    return value.map((element, index) => copy(element, within(place, index), depth + 1));
  }
  if (isPlainObject(value)) {
    const entries = Object.entries(value).filter(([, property]) => property !== undefined);
    return Object.fromEntries(entries.map(([key, property]) => [key, copy(property, within(place, key), depth + 1)]));
  }
  throw new ConfigurationError(
    place,
    `"${place}" must be JSON data (strings, finite numbers, booleans, null, arrays and plain objects); ` +
      `got a value of type ${typeof value}.`,
  );
}

function within(place: string, key: string | number): string {
  return place === "" ? String(key) : `${place}.${key}`;
}

/** Parses a call's arguments; undefined unless they are a JSON object. */
export function parseArguments(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") {
    return {};
  }
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? copyJson(value) : undefined;
  } catch {
    return undefined;
  }
}

/** True for plain objects, also those of another realm. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * Copies what JSON can express of any value; never throws. Big integers become their digits, errors
 * `{ name, message }`, maps and sets arrays, bytes base64; all else is as JSON writes it. `"[Unreadable]"` stands for a
 * value that JSON cannot hold: one that is circular, nested too deep, of more than 100,000 values, or that throws.
 */
export function jsonSnapshot(value: unknown): unknown {
  let left = maxValues;
  function written(this: object, key: string, inner: unknown): unknown {
    left -= 1;
    if (left < 0) {
      throw new RangeError("The value is too large.");
    }
    const own = (this as Record<string, unknown>)[key];
    if (types.isTypedArray(own)) {
      return Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString("base64");
    }
    const isList = types.isMap(inner) || types.isSet(inner);
    return typeof inner === "bigint"
      ? String(inner)
      : types.isNativeError(inner)
        ? { name: inner.name, message: inner.message }
        : isList
          ? [...(inner as Iterable<unknown>)]
          : inner;
  }
  try {
    return JSON.parse(JSON.stringify(value, written) ?? "null");
  } catch {
    return "[Unreadable]";
  }
}
