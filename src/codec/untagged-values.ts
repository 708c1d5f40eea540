import { tagKey } from "./tagged-values.js";

/**
 * The value that `tagValue` wrote. Works on a fresh result of `JSON.parse`, which it takes over.
 *
 * @throws Error for a tag that this version does not know or whose payload does not fit, and for too deep nesting.
 */
export function untagValue(value: unknown): unknown {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      value[index] = untagValue(value[index]);
    }
    return value;
  }
  return Object.hasOwn(value, tagKey) ? untag((value as Record<string, unknown>)[tagKey]) : untagProperties(value);
}

function untagProperties(object: object): object {
  for (const key of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[key];
    if (typeof value === "object" && value !== null) {
      // Not an assignment, which would set the prototype where the key is `__proto__`.
      Object.defineProperty(object, key, { value: untagValue(value), enumerable: true, configurable: true, writable: true });
    }
  }
  return object;
}

function untag(tag: unknown): unknown {
  const [kind, payload] = Array.isArray(tag) ? (tag as unknown[]) : [];
  const revive = typeof kind === "string" ? revivers.get(kind) : undefined;
  if (revive === undefined) {
    throw new Error("unknown tag");
  }
  return revive(payload);
}

const revivers: ReadonlyMap<string, (payload: unknown) => unknown> = new Map<string, (payload: unknown) => unknown>([
  ["Date", (payload) => new Date(payload === null ? NaN : text(payload))],
  ["BigInt", (payload) => BigInt(text(payload))],
  ["Number", (payload) => Number(text(payload))],
  ["Undefined", () => undefined],
  ["Map", (payload) => new Map(array(payload).map((entry) => array(untagValue(entry)) as [unknown, unknown]))],
  ["Set", (payload) => new Set(array(payload).map(untagValue))],
  ["Error", reviveError],
  ["Object", (payload) => untagProperties(record(payload))],
  ["Buffer", (payload) => Buffer.from(text(payload), "base64")],
  ["ArrayBuffer", (payload) => bytes(payload)],
  ["Int8Array", (payload) => new Int8Array(bytes(payload))],
  ["Uint8Array", (payload) => new Uint8Array(bytes(payload))],
  ["Uint8ClampedArray", (payload) => new Uint8ClampedArray(bytes(payload))],
  ["Int16Array", (payload) => new Int16Array(bytes(payload))],
  ["Uint16Array", (payload) => new Uint16Array(bytes(payload))],
  ["Int32Array", (payload) => new Int32Array(bytes(payload))],
  ["Uint32Array", (payload) => new Uint32Array(bytes(payload))],
  ["Float32Array", (payload) => new Float32Array(bytes(payload))],
  ["Float64Array", (payload) => new Float64Array(bytes(payload))],
  ["BigInt64Array", (payload) => new BigInt64Array(bytes(payload))],
  ["BigUint64Array", (payload) => new BigUint64Array(bytes(payload))],
]);

function reviveError(payload: unknown): Error {
  const fields = untagProperties(record(payload)) as { name?: unknown; message?: unknown };
  const error = new Error(text(fields.message), Object.hasOwn(fields, "cause") ? { cause: (fields as { cause?: unknown }).cause } : {});
  const name = text(fields.name);
  if (name !== error.name) {
    Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  }
  return error;
}

function bytes(payload: unknown): ArrayBuffer {
  return Uint8Array.from(Buffer.from(text(payload), "base64")).buffer;
}

function text(payload: unknown): string {
  if (typeof payload !== "string") {
    throw new Error("a tag's payload is not text");
  }
  return payload;
}

function array(payload: unknown): unknown[] {
  if (!Array.isArray(payload)) {
    throw new Error("a tag's payload is not an array");
  }
  return payload;
}

function record(payload: unknown): object {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
    throw new Error("a tag's payload is not an object");
  }
  return payload;
}
