import { isLabel, nameOf, partsOf, itemValue, parseRecord, recordOf } from "../../store/redis/item-records.js";
import type { StoredItem } from "../../store/redis/item-records.js";
import { clearItems, importItem, readItems, type StoredItemRecord } from "../../store/redis/stored-items.js";
import type { KeyRing } from "../../store/sealed/keys/key-ring.js";
import { SealedTexts } from "../../store/sealed/sealed-texts.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { isRecord } from "../../conversation/messages/message.js";
import { badLine, fieldsOf, otherContent, type ExportLine, orBadLine } from "./lines.js";
import { damagedThread, threadLabel, isSealedText } from "../../store/redis/thread-records.js";
import { isWhole, withTexts, writeThread } from "../../store/redis/whole-thread.js";
import type { StoredThread, WholeThread } from "../../store/redis/whole-thread.js";
import { ownedPieces, type FoundPiece } from "../../store/redis-lists/kinds.js";
import { wireOf, type RedisWire } from "../../store/redis-store/redis-session-store.js";
import { sealedParts } from "../../store/sealed/loaded-store.js";
import { checkSessionId } from "../../store/contract/session-ref.js";

/** Removes the items of namespaces and their descendants, and returns their number. */
export async function eraseItems(store: SessionStore, namespaces: readonly (readonly string[])[]): Promise<number> {
  const { wire } = besideOf(store);
  let removed = 0;
  for (const namespace of wire === undefined ? [] : namespaces) {
    removed += await clearItems(wire!, namespace);
  }
  return removed;
}

/** Exports threads and items: an owner's, and those of the given sessions of theirs, or all; a line each. */
export async function* exportData(
  store: SessionStore,
  {
    owner,
    sessions,
    namespaces,
  }: {
    readonly owner: string | undefined;
    readonly sessions: ReadonlySet<string>;
    /** Those of the owner's items. */
    readonly namespaces: readonly (readonly string[])[];
  },
): AsyncGenerator<ExportedData> {
  yield* exportThreads(store, owner, sessions);
  const { wire, ring } = besideOf(store);
  const piece = { kind: "item", id: "" } as const;
  const exported = (item: StoredItemRecord): Promise<ExportedData> =>
    itemLine(item, ring).then(
      (line) => ({ ...piece, line }),
      (error: unknown) => ({ ...piece, error }),
    );
  try {
    // The empty namespace is that of all items.
    for (const namespace of wire === undefined ? [] : owner === undefined ? [[]] : namespaces) {
      for await (const page of readItems(wire!, namespace)) {
        yield* await Promise.all(page.map(exported));
      }
    }
  } catch (error) {
    yield { ...piece, error };
  }
}

async function itemLine(stored: StoredItemRecord, ring: KeyRing | undefined): Promise<string> {
  const { name, record, expiresAt } = stored;
  const { created, updated, ttlAtReads, text } = parseRecord(name, record);
  const value = itemValue(name, await openedText({ name, text }, new SealedTexts(ring, "item"), stored.keys));
  return JSON.stringify({
    ...{ type: "item", ...partsOf(name), createdAt: created, updatedAt: updated, expiresAt, ttlAtReads },
    value,
  });
}

/** @throws EncryptionError. */
async function openedText({ name, text }: Pick<StoredItem, "name" | "text">, sealed: SealedTexts, keys?: string) {
  return (await sealed.opener("", [text], keys))(text, "", name);
}

/**
 * Imports the line of an item.
 *
 * @throws RecordError `corrupt`; ConflictError `exists` if there is another item of this name; StoreError `damaged`.
 */
export async function importItemLine(line: ExportLine, { wire, ttlMs, ring }: DataTarget): Promise<ImportedData> {
  const { namespace, key, value, createdAt, updatedAt, ...expiry } = fieldsOf("item", line);
  if (namespace.length === 0 || !namespace.every(isLabel) || !key.isWellFormed() || key.includes("\0")) {
    throw badLine(line.number, "its namespace or key is none");
  }
  if (!isRecord(value) && !Array.isArray(value)) {
    throw badLine(line.number, '"value" must be an object');
  }
  const now = Date.now();
  const expiresAt = ttlMs === undefined ? expiry.expiresAt : now + ttlMs;
  if (expiresAt !== undefined && expiresAt <= now) {
    return "expired";
  }
  const name = nameOf(namespace, key);
  const text = JSON.stringify(value);
  const sealed = new SealedTexts(ring, "item", wire);
  const sealer = await sealed.sealer("");
  const item = { created: createdAt, updated: updatedAt, ttlAtReads: expiry.ttlAtReads };
  const record = recordOf({ ...item, text: sealer.seal(text, "", name) });
  const stored = await importItem(wire, { name, record, expiresAt, keys: sealer.key });
  if (stored !== undefined) {
    const there = parseRecord(name, stored);
    const isSame = there.updated === updatedAt && (await openedText(there, sealed)) === text;
    if (!isSame) {
      throw otherContent("There is an item of this namespace and key with other content", "");
    }
  }
  return stored === undefined ? "imported" : "unchanged";
}

/** The connection and the keys of a store, for data beside its sessions; no connection for a store in memory. */
export function besideOf(store: SessionStore): { readonly wire?: RedisWire; readonly ring?: KeyRing } {
  const parts = sealedParts(store);
  const wire = wireOf(parts?.store ?? store);
  return { ...(wire && { wire }), ...(parts && { ring: parts.keys.ring }) };
}

/** A thread or an item to export: its line, or why it cannot be read. */
interface ExportedData extends FoundPiece {
  readonly line?: string;
  readonly error?: unknown;
}

/** Exports the threads of an owner and of the given sessions of theirs, or without an owner all; a line each. */
async function* exportThreads(
  store: SessionStore,
  owner: string | undefined,
  sessions: ReadonlySet<string>,
): AsyncGenerator<ExportedData> {
  const { wire, ring } = besideOf(store);
  for await (const { kind, id, read } of wire === undefined ? [] : ownedPieces(wire, owner, sessions)) {
    try {
      const thread = await read();
      yield* thread === undefined ? [] : [{ kind, id, line: await threadLine(id, thread, ring) }];
    } catch (error) {
      yield { kind, id, error };
    }
  }
}

/** The line of a thread, whose texts are opened. @throws StoreError `damaged`; EncryptionError. */
async function threadLine(threadId: string, thread: StoredThread, ring: KeyRing | undefined): Promise<string> {
  if (!isWhole(thread)) {
    throw damagedThread("export", threadId);
  }
  const sealed = new SealedTexts(ring, "thread");
  const { items, fields, members, left } = await withTexts(thread, async (text, kind, name) =>
    (await sealed.opener(threadId, [text], thread.keys ?? ""))(text, kind, name),
  );
  return JSON.stringify({
    ...{ type: "thread", threadId, expiresAt: left === undefined ? undefined : Date.now() + left },
    ...{ fields: Object.fromEntries(fields), items, members },
  });
}

/** Target of an imported thread or item. */
interface DataTarget {
  readonly wire: RedisWire;
  /** Time to live in milliseconds; undefined for the exported expiry. */
  readonly ttlMs: number | undefined;
  /** The keys that seal it; undefined for plain text. */
  readonly ring: KeyRing | undefined;
}

/** Outcome of the line of a thread or an item. */
type ImportedData = "imported" | "unchanged" | "expired";

/**
 * Imports the line of a thread.
 *
 * @throws RecordError `corrupt`; ConflictError `exists` if there is another thread of this id; StoreError `erased`.
 */
export async function importThread(line: ExportLine, { wire, ttlMs, ring }: DataTarget): Promise<ImportedData> {
  const { threadId, expiresAt, ...rest } = fieldsOf("thread", line);
  const plain: WholeThread = { ...rest, fields: Object.entries(rest.fields) };
  orBadLine(line.number, () => checkSessionId(threadId));
  if (!isWhole(plain) || rest.fields["token"] === undefined || rest.fields["erased"] !== undefined) {
    throw badLine(line.number, "the thread is not whole");
  }
  const ttl = ttlMs ?? (expiresAt === undefined ? undefined : expiresAt - Date.now());
  if (ttl !== undefined && ttl <= 0) {
    return "expired";
  }
  const { key, seal } = await new SealedTexts(ring, "thread").sealer(threadId);
  const thread = await withTexts(plain, async (text, kind, name) => {
    if (isSealedText(text)) {
      throw badLine(line.number, "the thread is encrypted");
    }
    return seal(text, kind, name);
  });
  const word = await writeThread(wire, threadId, {
    thread: { ...thread, keys: key && `${key}\n` },
    ...{ ttl, operation: "import" },
  });
  if (word === "EXISTS") {
    throw otherContent(`There is a ${threadLabel(threadId)} with other content`, threadId);
  }
  return word === "OK" ? "imported" : "unchanged";
}
