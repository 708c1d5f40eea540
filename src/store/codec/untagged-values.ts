import { isRecord } from "../../conversation/messages/values.js";
import { tagKey } from "./tagged-values.js";

/** The value of a kind that is the caller's own; undefined for any other. */
type OwnKinds = (kind: string, payload: unknown) => unknown;

/**
 * Inverse of `tagValue`. Takes ownership of its input, a fresh result of `JSON.parse`.
 *
 * @throws Error for an unknown tag, an invalid payload, and too deep nesting.
 */
export function untagValue(value: unknown, own?: OwnKinds): unknown {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      value[index] = untagValue(value[index], own);
    }
    return value;
  }
  return Object.hasOwn(value, tagKey)
    ? untag((value as Record<string, unknown>)[tagKey], own)
    : untagProperties(value, own);
}

function untagProperties(object: object, own?: OwnKinds): object {
  for (const key of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[key];
    if (typeof value === "object" && value !== null) {
      // An assignment to `__proto__` would set the prototype.
      Object.defineProperty(object, key, {
        value: untagValue(value, own),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
  }
  return object;
}

function untag(tag: unknown, own?: OwnKinds): unknown {
  const [kind, payload] = Array.isArray(tag) ? (tag as unknown[]) : [];
  if (typeof kind !== "string") {
    throw new Error("unknown tag");
  }
  const revive = revivers.get(kind);
  const value = revive === undefined ? own?.(kind, payload) : revive(payload, own);
  if (revive === undefined && value === undefined) {
    throw new Error("unknown tag");
  }
  return value;
}

const typedArrays = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
];

type Reviver = (payload: unknown, own?: OwnKinds) => unknown;

const revivers: ReadonlyMap<string, Reviver> = new Map<string, Reviver>([
  ["Date", (payload) => new Date(payload === null ? NaN : text(payload))],
  ["BigInt", reviveBigInt],
  ["Number", (payload) => Number(text(payload))],
  ["Undefined", () => undefined],
  [
    "Map",
    (payload, own) => new Map(array(payload).map((entry) => array(untagValue(entry, own)) as [unknown, unknown])),
  ],
  ["Set", (payload, own) => new Set(array(payload).map((element) => untagValue(element, own)))],
  ["Error", reviveError],
  ["Object", (payload, own) => untagProperties(record(payload), own)],
  ["Buffer", (payload) => Buffer.from(text(payload), "base64")],
  ["ArrayBuffer", bytes],
  ...typedArrays.map((view) => [view.name, (payload: unknown) => reviveTypedArray(view, payload)] as const),
]);

function reviveTypedArray(view: (typeof typedArrays)[number], payload: unknown): unknown {
  const buffer = bytes(payload);
  if (buffer.byteLength % view.BYTES_PER_ELEMENT !== 0) {
    throw new Error("a tag's bytes do not fill whole elements");
  }
  return new view(buffer);
}

function reviveBigInt(payload: unknown): bigint {
  const [, sign, digits] = /^(-?)(\d{1,400}|0x[\da-f]+)$/.exec(text(payload)) ?? [];
  if (digits === undefined) {
    throw new Error("a tag's payload is not a whole number");
  }
  return sign === "-" ? -BigInt(digits) : BigInt(digits);
}

function reviveError(payload: unknown, own?: OwnKinds): Error {
  const fields = untagProperties(record(payload), own) as { name?: unknown; message?: unknown };
  const error = new Error(
    text(fields.message),
    Object.hasOwn(fields, "cause") ? { cause: (fields as { cause?: unknown }).cause } : {},
  );
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
  if (!isRecord(payload)) {
    throw new Error("a tag's payload is not an object");
  }
  return payload;
}
