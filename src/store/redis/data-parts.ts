import { decodeSessionId, encodeSessionId } from "../contract/session-ref.js";

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
