import { RecordError } from "../../base/errors.js";
import { valueIn } from "../../conversation/messages/message.js";
import { encodeSessionId } from "../contract/session-ref.js";

/** A parsed record. Times are milliseconds since 1970. */
export interface StoredItem {
  readonly name: string;
  readonly created: number;
  readonly updated: number;
  /** Milliseconds to which reads extend its expiry; undefined if they do not. */
  readonly ttlAtReads: number | undefined;
  /** The value as JSON, which may be encrypted. */
  readonly text: string;
}

/** Parses a record: `created|updated|ttl on read|text`. @throws RecordError `corrupt` */
export function parseRecord(name: string, record: string): StoredItem {
  const [, created, updated, ttl, text] = /^(\d+)\|(\d+)\|(\d*)\|(.*)$/s.exec(record) ?? [];
  if (text === undefined) {
    throw corruptItem(name);
  }
  const ttlAtReads = ttl === "" ? undefined : Number(ttl);
  return { name, created: Number(created), updated: Number(updated), ttlAtReads, text };
}

/** The inverse of {@link parseRecord}. */
export function recordOf({ created, updated, ttlAtReads, text }: Omit<StoredItem, "name">): string {
  return `${created}|${updated}|${ttlAtReads ?? ""}|${text}`;
}

/** The value of an item, from its decrypted text. @throws RecordError `corrupt` */
export function itemValue(name: string, text: string): object {
  const value = valueIn(text);
  if (typeof value !== "object" || value === null) {
    throw corruptItem(name);
  }
  return value;
}

/** The error for an unreadable record. Namespace and key are encoded, so that they cannot forge log lines. */
function corruptItem(name: string): RecordError {
  const { namespace, key } = partsOf(name);
  const label = [...namespace, key].map(encodeSessionId).join(" ").slice(0, 160);
  return new RecordError(`Item ${label} of the RedisStore cannot be read. Write it again with put(), or delete() it.`, {
    code: "corrupt",
  });
}

/** Separates labels; doubled, it ends the namespace. Labels are not empty and cannot contain it. */
const separator = "\0";
const end = separator.repeat(2);

/** A range of names in the syntax of ZRANGEBYLEX. */
type NameBounds = readonly [lower: string, upper: string];

/** The member name of an item. Lexicographic order sorts items by namespace, each before its descendants. */
export function nameOf(namespace: readonly string[], key: string): string {
  return namespace.join(separator) + end + key;
}

/** Namespace and key of a name. */
export function partsOf(name: string): { readonly namespace: string[]; readonly key: string } {
  const at = name.indexOf(end);
  return { namespace: labelsOf(name.slice(0, at)), key: name.slice(at + end.length) };
}

/** Splits the namespace part of a name into labels. */
export function labelsOf(namespace: string): string[] {
  return namespace.split(separator);
}

/** The range of a namespace and its descendants; without labels, the range of everything. */
export function boundsWithin(prefix: readonly string[]): NameBounds {
  const first = prefix.join(separator);
  return prefix.length === 0 ? ["-", "+"] : [`[${first}${separator}`, `(${first}\u0001`];
}

/** True for a label of a namespace. */
export function isLabel(label: unknown): label is string {
  return typeof label === "string" && label !== "" && !/[.:\0]/.test(label) && label.isWellFormed();
}
