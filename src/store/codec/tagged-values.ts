import { types } from "node:util";
import { isRecord } from "../../conversation/messages/message.js";

/**
 * Values that JSON cannot hold are written as `{"$lcmem":[kind, payload]}`:
 *
 * | kind | payload |
 * | --- | --- |
 * | `Date` | ISO 8601 text, null for an invalid date |
 * | `BigInt` | decimal digits; `0x` and hexadecimal digits from 2^1024 on, which take linear time |
 * | `Number` | `NaN`, `Infinity`, `-Infinity` or `-0` |
 * | `Undefined` | none (elements of arrays only; a property that is undefined is left out) |
 * | `Buffer`, `ArrayBuffer`, `Uint8Array` and the other typed arrays | base64 of the bytes, little-endian |
 * | `Map`, `Set` | array of entries or elements |
 * | `Error` | `{ name, message, cause? }` |
 * | `Object` | the properties of an object that has a key `$lcmem` of its own |
 *
 * Objects with a `toJSON` method become what it returns, other class instances their own enumerable properties: both as
 * JSON does.
 */
export const tagKey = "$lcmem";

/** Maximum nesting: far above any provider's output, far below the stack's limit. */
const maxDepth = 500;
/** Characters and bytes, plus 64 per value: bounds the cost of shared references, which JSON repeats. */
const maxSize = 64 * 1024 * 1024;

/** State of a traversal of one message's values. */
export interface Walk {
  readonly ancestors: object[];
  readonly path: (string | number)[];
  /** True while the keys of every visited object are in ascending order. */
  sorted: boolean;
  size: number;
  /** The form of objects and arrays that the caller writes itself; undefined for any other. */
  readonly own: ((value: object) => unknown) | undefined;
  /** Reason and path of a failure; never the value itself. */
  problem: { readonly reason: string; readonly path: readonly (string | number)[] } | undefined;
}

/** Starts the traversal of one message. */
export function startWalk(own?: Walk["own"]): Walk {
  return { ancestors: [], path: [], sorted: true, size: 0, own, problem: undefined };
}

/**
 * The value in a form that `JSON.stringify` writes without loss. Parts without a tag are shared, not copied; the input
 * is not modified.
 *
 * @throws Error for functions, symbols, circular references and unsupported classes; the walk's `problem` has the path.
 */
export function tagValue(value: unknown, walk: Walk): unknown {
  if ((walk.size += 64) > maxSize) {
    throw unsupported("makes the message too large to store", walk);
  }
  switch (typeof value) {
    case "string":
      walk.size += value.length;
      return value;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : tagged("Number", Object.is(value, -0) ? "-0" : String(value));
    case "boolean":
      return value;
    case "undefined":
      return tagged("Undefined");
    case "bigint":
      return tagBigInt(value, walk);
    case "object":
      return value === null ? null : tagObject(value, walk);
    default:
      throw unsupported(`is a ${typeof value}`, walk);
  }
}

const largeBigInt = 2n ** 1024n;

function tagBigInt(value: bigint, walk: Walk): object {
  const magnitude = value < 0n ? -value : value;
  const digits = magnitude < largeBigInt ? String(magnitude) : `0x${magnitude.toString(16)}`;
  walk.size += digits.length;
  return tagged("BigInt", value < 0n ? `-${digits}` : digits);
}

function tagObject(value: object, walk: Walk): unknown {
  if (walk.ancestors.length >= maxDepth) {
    throw unsupported(`is nested deeper than ${maxDepth} levels`, walk);
  }
  if (walk.ancestors.includes(value)) {
    throw unsupported("refers back to an object that contains it", walk);
  }
  walk.ancestors.push(value);
  const result = walk.own?.(value) ?? tagContent(value, walk);
  walk.ancestors.pop();
  return result;
}

function tagContent(value: object, walk: Walk): unknown {
  if (Array.isArray(value)) {
    return tagArray(value, walk);
  }
  return isPropertyBag(value) ? tagProperties(value, walk) : tagInstance(value, walk);
}

function tagArray(array: readonly unknown[], walk: Walk): readonly unknown[] {
  const depth = walk.ancestors.length - 1;
  let copy: unknown[] | undefined;
  for (let index = 0; index < array.length; index += 1) {
    walk.path[depth] = index;
    const result = tagValue(array[index], walk);
    if (result !== array[index]) {
      copy ??= array.slice();
      copy[index] = result;
    }
  }
  return copy ?? array;
}

function tagProperties(object: object, walk: Walk): unknown {
  const depth = walk.ancestors.length - 1;
  const properties = object as Record<string, unknown>;
  const keys = Object.keys(object);
  let changes: Map<string, unknown> | undefined;
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index]!;
    const value = properties[key];
    if (value === undefined) {
      continue;
    }
    walk.path[depth] = key;
    walk.size += key.length;
    walk.sorted &&= index === 0 || keys[index - 1]! < key;
    const result = tagValue(value, walk);
    if (result !== value) {
      (changes ??= new Map<string, unknown>()).set(key, result);
    }
  }
  const result = changes === undefined ? object : withChanges(properties, changes);
  return Object.hasOwn(object, tagKey) ? tagged("Object", result) : result;
}

/** Defines own properties, even for keys such as `__proto__`. */
function withChanges(properties: Record<string, unknown>, changes: ReadonlyMap<string, unknown>): object {
  return Object.fromEntries(
    Object.keys(properties).map((key) => [key, changes.has(key) ? changes.get(key) : properties[key]]),
  );
}

function tagInstance(value: object, walk: Walk): unknown {
  if (types.isDate(value)) {
    return tagged("Date", Number.isNaN(value.getTime()) ? null : value.toISOString());
  }
  if (types.isTypedArray(value)) {
    walk.size += value.byteLength;
    const kind = Buffer.isBuffer(value) ? "Buffer" : value[Symbol.toStringTag];
    return tagged(kind, Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64"));
  }
  if (types.isArrayBuffer(value)) {
    walk.size += value.byteLength;
    return tagged("ArrayBuffer", Buffer.from(value).toString("base64"));
  }
  if (types.isMap(value)) {
    return tagged("Map", tagArray([...value], walk));
  }
  if (types.isSet(value)) {
    return tagged("Set", tagArray([...value], walk));
  }
  return tagForeignInstance(value, walk);
}

function tagForeignInstance(value: object, walk: Walk): unknown {
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    return tagValue((value as { toJSON(): unknown }).toJSON() ?? null, walk);
  }
  if (types.isNativeError(value)) {
    const { name, message, cause } = value;
    return tagged("Error", tagProperties({ name, message, cause }, walk));
  }
  if (types.isBoxedPrimitive(value)) {
    return tagValue(value.valueOf(), walk);
  }
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  if (unsupportedKinds.has(kind)) {
    throw unsupported(`is a ${kind}`, walk);
  }
  return tagProperties(value, walk);
}

/** Built-in objects with internal state. */
const unsupportedKinds: ReadonlySet<string> = new Set([
  "RegExp",
  "Promise",
  "WeakMap",
  "WeakSet",
  "WeakRef",
  "DataView",
  "SharedArrayBuffer",
  "Generator",
  "AsyncGenerator",
]);

/** True for plain objects that JSON writes by their properties, not by a `toJSON` of their own. */
export function isPropertyBag(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || typeof (value as { toJSON?: unknown }).toJSON === "function") {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A value of a kind that JSON cannot hold. */
export function tagged(kind: string, payload?: unknown): object {
  return { [tagKey]: payload === undefined ? [kind] : [kind, payload] };
}

function unsupported(reason: string, walk: Walk): Error {
  walk.problem = { reason, path: walk.path.slice(0, walk.ancestors.length) };
  return new Error(reason);
}

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
