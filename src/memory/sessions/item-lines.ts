import { isLabel, nameOf, partsOf } from "../../store/redis/item-names.js";
import { itemValue, parseRecord, recordOf, type StoredItem } from "../../store/redis/item-records.js";
import { clearItems, importItem, readItems, type StoredItemRecord } from "../../store/redis/stored-items.js";
import type { KeyRing } from "../../store/sealed/keys/key-ring.js";
import { SealedTexts } from "../../store/sealed/sealed-texts.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { isRecord } from "../../conversation/messages/values.js";
import { badLine, fieldsOf, otherContent, type ExportLine } from "./lines.js";
import { besideOf, exportThreads, type DataTarget, type ExportedData, type ImportedData } from "./thread-lines.js";

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
