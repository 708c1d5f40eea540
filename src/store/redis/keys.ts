import crypto from "node:crypto";
import { shortHash } from "../../base/ids.js";
import { idHashLength, sumFactor, sumModulus } from "./stored-fields.js";
import { decodeSessionId, encodeSessionId } from "../contract/session-ref.js";

/** The prefix of all keys by default. */
export const defaultKeyPrefix = "lcmem";

/** Names of the keys of one session; all lie in one hash slot. */
export interface SessionKeys {
  /** LIST: the records, oldest first. */
  readonly log: string;
  /** HASH: hash of a message id → digest and position. */
  readonly ids: string;
  /** HASH: everything else that is kept about the session. */
  readonly state: string;
  /** STRING: the token of the process that is summarizing this session. */
  readonly lease: string;
}

/** The keys of a session. */
export function sessionKeys(keyPrefix: string, sessionId: string): SessionKeys {
  const key = (part: "log" | "ids" | "state" | "lease") => keyOf(keyPrefix, part, sessionId);
  return { log: key("log"), ids: key("ids"), state: key("state"), lease: key("lease") };
}

/**
 * The list of an owner, a ZSET: encoded session id → microsecond of the last write. No session's key begins like it: an
 * encoded session id holds no colon.
 */
export function ownerKey(keyPrefix: string, owner: string): string {
  return keyOf(keyPrefix, "sessions", owner);
}

/** Names of the keys of one LangGraph thread; all lie in one hash slot, that of the session of the same id. */
interface ThreadKeys {
  /** LIST: texts of which values are made, numbered by position. */
  readonly items: string;
  /** HASH: the checkpoints, their writes, and what is known of the thread. */
  readonly checkpoints: string;
  /** ZSET: namespace and id of each checkpoint, in order of text. */
  readonly order: string;
}

/** The keys of a thread. No part has the name of a part of a session. */
export function threadKeys(keyPrefix: string, threadId: string): ThreadKeys {
  const key = (part: "items" | "checkpoints" | "order") => keyOf(keyPrefix, part, threadId);
  return { items: key("items"), checkpoints: key("checkpoints"), order: key("order") };
}

/** Names of the keys of a session's runs; all lie in the slot of the session. */
export interface RunKeys {
  /** STREAM: the entries of the newest run, and of the one before it. */
  readonly run: string;
  /** LIST: messages said to a run that no model call has seen. */
  readonly steers: string;
  /** ZSET: starts that wait for the end of the run, by the order in which they came. */
  readonly queue: string;
}

/** The keys of a session's runs. */
export function runKeys(keyPrefix: string, sessionId: string): RunKeys {
  const key = (part: "run" | "run:steers" | "run:queue") => keyOf(keyPrefix, part, sessionId);
  return { run: key("run"), steers: key("run:steers"), queue: key("run:queue") };
}

/** The STREAM that holds the mail to a process. No session's key begins like it: an encoded id holds no colon. */
export function mailKey(keyPrefix: string, instance: string): string {
  return keyOf(keyPrefix, "mail", instance);
}

/** Names of the keys of long-term memory; all lie in one hash slot. */
interface ItemKeys {
  /** HASH: the items by their names: namespace and key. */
  readonly values: string;
  /** ZSET: their names in order of text. */
  readonly names: string;
  /** ZSET: when those expire that do; and an empty name, so that the key exists. */
  readonly expiry: string;
}

/** The keys of long-term memory. No session's key begins like them: an encoded session id holds no colon. */
export function itemKeys(keyPrefix: string): ItemKeys {
  const key = (part: "values" | "names" | "expiry") => keyOf(keyPrefix, part, "items");
  return { values: key("values"), names: key("names"), expiry: key("expiry") };
}

/**
 * The keys of a copy or an index that is not complete yet, in the slot of the session that it becomes. The tag names
 * the source as it was, so that the same fork goes on with the copy, and another one does not.
 */
export function forkKeys(
  keyPrefix: string,
  sessionId: string,
  tag: string,
): Pick<SessionKeys, "log" | "ids" | "state"> {
  const key = (part: "records" | "known" | "progress") => keyOf(keyPrefix, `staged:${part}`, sessionId, tag);
  return { log: key("records"), ids: key("known"), state: key("progress") };
}

/** Error text for an invalid key prefix, as the end of a sentence; undefined for a valid one. */
export function keyPrefixIssue(keyPrefix: string): string | undefined {
  if (keyPrefix === "") {
    return "must not be empty";
  }
  if (/[{}]/.test(keyPrefix)) {
    return "must not contain braces, which would put all sessions into one slot of a cluster";
  }
  return /[\s\p{Cc}\p{Cf}]/u.test(keyPrefix) ? "must not contain white space or control characters" : undefined;
}

/** The field of `ids` that an id has. Text, because arguments that are bytes cost the client twice the time. */
export function idHash(id: string): string {
  return shortHash(id, idHashLength);
}

/** The same of the last id that was read, where a write names it. */
export function lastHash(lastId: string | undefined): string | undefined {
  return lastId === undefined ? undefined : idHash(lastId);
}

/**
 * The checksum of a log behind further records, given the one before them. The scripts that append say the same with
 * the checksum of the new records alone: `logSum(records)` (log-sum.lua).
 */
export function logSum(records: readonly string[], before = 0): number {
  let sum = before;
  for (let index = 0; index < records.length; index += 1) {
    sum = (sum * sumFactor + hashOf(records[index]!)) % sumModulus;
  }
  return sum;
}

/** The same from the checksum of the further records alone, as the scripts have it. */
export function sumBehind(before: number, { count, sum }: { readonly count: number; readonly sum: number }): number {
  let behind = before;
  for (let index = 0; index < count; index += 1) {
    behind = (behind * sumFactor) % sumModulus;
  }
  return (behind + sum) % sumModulus;
}

/** The checksum that a field holds; undefined where it is missing or no number. */
export function sumFrom(text: string | null | undefined): number | undefined {
  return typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** 48 bits of the text's SHA-1. */
function hashOf(text: string): number {
  return Number.parseInt(sha1(text).slice(0, 12), 16);
}

/** The SHA-1 in hexadecimal, as `redis.sha1hex` makes it; in a third of the time from Node.js 20.12 on. */
export const sha1: (text: string | Buffer) => string =
  typeof crypto.hash === "function"
    ? (text) => crypto.hash("sha1", text)
    : (text) => crypto.createHash("sha1").update(text).digest("hex");

/** Whose name stands in the braces of a key, which decides its hash slot. */
type DataSubject = "session" | "owner" | "process" | "store";

/** Every part of a key that this package writes. The table of kinds in `redis-lists/kinds.ts` covers each of them. */
const dataParts = {
  log: { kind: "session", of: "session" },
  ids: { kind: "session", of: "session" },
  state: { kind: "session", of: "session" },
  "staged:records": { kind: "copy", of: "session" },
  "staged:known": { kind: "copy", of: "session" },
  "staged:progress": { kind: "copy", of: "session" },
  lease: { kind: "lease", of: "session" },
  run: { kind: "run", of: "session" },
  "run:steers": { kind: "run", of: "session" },
  "run:queue": { kind: "run", of: "session" },
  items: { kind: "thread", of: "session" },
  checkpoints: { kind: "thread", of: "session" },
  order: { kind: "thread", of: "session" },
  values: { kind: "item", of: "store" },
  names: { kind: "item", of: "store" },
  expiry: { kind: "item", of: "store" },
  sessions: { kind: "list", of: "owner" },
  mail: { kind: "mailbox", of: "process" },
} as const satisfies Record<string, { readonly kind: string; readonly of: DataSubject }>;

/** A part of a key. */
export type DataPart = keyof typeof dataParts;

/** A kind of stored data: what is erased together. */
export type DataKind = (typeof dataParts)[DataPart]["kind"];

/** The name of a key: the only place where one is made. `tag` tells incomplete copies of a session apart. */
export function keyOf(keyPrefix: string, part: DataPart, id: string, tag?: string): string {
  const { of } = dataParts[part];
  const name = of === "session" ? encodeSessionId(id) : `${of}:${of === "owner" ? encodeSessionId(id) : id}`;
  return `${keyPrefix}:{${name}}:${tag === undefined ? part : part.replace(":", `:${tag}:`)}`;
}

/** The meaning of a key's name. */
export interface NamedKey {
  readonly part: DataPart;
  readonly kind: DataKind;
  /** A session or thread, an owner, a process, or the store of items. */
  readonly id: string;
  /** The tag of an incomplete copy. */
  readonly tag?: string;
}

/** The inverse of {@link keyOf}, of a name without prefix and brace; undefined for a key of others. */
export function namedKey(rest: string): NamedKey | undefined {
  const [, name = "", text = ""] = /^([^{}]*)\}:(.+)$/s.exec(rest) ?? [];
  const [, tag] = /^staged:([^:]+):/.exec(text) ?? [];
  const part = tag === undefined ? text : text.replace(`:${tag}:`, ":");
  if (!isPart(part) || (tag === undefined) !== (dataParts[part].kind !== "copy")) {
    return undefined;
  }
  const { kind, of } = dataParts[part];
  const [, subject, plain = ""] = /^(owner|process|store):(.*)$/s.exec(name) ?? [];
  const encoded = of === "session" ? name : plain;
  const id = of === "session" || of === "owner" ? decodeSessionId(encoded) : encoded;
  return (subject ?? "session") !== of || id === undefined || id === ""
    ? undefined
    : { part, kind, id, ...(tag !== undefined && { tag }) };
}

function isPart(text: string): text is DataPart {
  return Object.hasOwn(dataParts, text);
}
