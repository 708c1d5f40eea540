import type { Item } from "@langchain/langgraph-checkpoint";
import { StoreError } from "../../base/errors.js";
import { report, type MemoryEventHandler } from "../../base/events.js";
import type { SealedTexts, Sealer } from "../../store/sealed/sealed-texts.js";
import { boundsWithin, labelsOf, partsOf, itemValue, parseRecord } from "../../store/redis/item-records.js";
import type { StoredItem } from "../../store/redis/item-records.js";
import type { KeyScan } from "../../store/redis/scan-keys.js";
import { runOnItems } from "../../store/redis/stored-items.js";
import { runOperationsScript } from "./lua/scripts.js";
import { namespacesOf, scanOf, mostScanned } from "./operations.js";
import type { CheckedList, CheckedOperation, CheckedSearch } from "./operations.js";

/** Dependencies of a batch. */
export interface BatchSetting {
  readonly wire: KeyScan;
  readonly sealed: SealedTexts;
  readonly maxItemBytes: number;
  readonly onEvent: MemoryEventHandler | undefined;
}

/** Items belong to no session. */
const noSession = "";

/**
 * Runs checked operations in one round trip. A filtered search takes a second one to extend the expiry of the items
 * that it returns.
 */
export async function runBatch(operations: readonly CheckedOperation[], setting: BatchSetting): Promise<unknown[]> {
  const [first] = operations;
  if (first === undefined) {
    return [];
  }
  const name = operations.every(({ kind }) => kind === first.kind) ? first.kind : "batch";
  const reads = operations.filter(({ kind }) => kind !== "put" && kind !== "delete");
  const isSealing = operations.some(({ kind }) => kind === "put");
  const sealer = isSealing ? await setting.sealed.sealer(noSession) : undefined;
  const calls = [...reads.map(readCall), ...writeCalls(operations, setting, sealer)];
  const replies = await runOperations(setting.wire, name, calls, sealer?.key);
  const results = new Map<CheckedOperation, unknown>();
  for (const [index, operation] of reads.entries()) {
    results.set(operation, await resultOf(operation, replies[index], setting));
  }
  return operations.map((operation) => results.get(operation) ?? null);
}

/** Arguments of the writes; the last write of an item wins. */
function writeCalls(
  operations: readonly CheckedOperation[],
  { maxItemBytes }: BatchSetting,
  sealer: Sealer | undefined,
): ScriptOperation[] {
  const last = new Map<string, ScriptOperation>();
  for (const operation of operations) {
    if (operation.kind === "delete") {
      last.set(operation.name, ["delete", operation.name]);
    } else if (operation.kind === "put") {
      const { name, text, ttl } = operation;
      checkSize(text, maxItemBytes);
      last.set(name, ["put", name, sealer!.seal(text, "", name), ttl?.ms ?? "", ttl?.refreshOnRead ? ttl.ms : ""]);
    }
  }
  // Removals go last: the last item takes the keys with it.
  return [...last.values()].sort(([a], [b]) => Number(a === "delete") - Number(b === "delete"));
}

function checkSize(text: string, limit: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > limit) {
    const message = `The value of an item (${bytes} bytes) exceeds maxItemBytes (${limit}); nothing was written.`;
    throw new StoreError(message, { code: "too_large", operation: "put" });
  }
}

function readCall(operation: CheckedOperation): ScriptOperation {
  switch (operation.kind) {
    case "search":
      return searchCall(operation);
    case "listNamespaces":
      return listCall(operation);
    default:
      return ["get", operation.name];
  }
}

/** Filters run in this process, so a filtered search reads every item under its prefix. */
function searchCall({ prefix, filter, limit, offset }: CheckedSearch): ScriptOperation {
  const isPage = filter === undefined;
  const skip = isPage ? Math.min(offset, mostScanned) : 0;
  const count = isPage ? Math.min(Math.max(limit, 1), mostScanned + 1 - skip) : mostScanned + 1;
  return ["search", ...boundsWithin(prefix), skip, count, mostScanned, isPage && limit > 0 ? "1" : ""];
}

function listCall(operation: CheckedList): ScriptOperation {
  const { prefix, depth, isExact } = scanOf(operation);
  const count = isExact ? Math.max(operation.offset + operation.limit, 1) : Infinity;
  return ["list", ...boundsWithin(prefix), depth ?? "", Math.min(count, mostScanned + 1), mostScanned];
}

async function resultOf(operation: CheckedOperation, reply: unknown, setting: BatchSetting): Promise<unknown> {
  if (reply === "MANY") {
    throw tooMany(operation.kind === "search" ? "search" : "listNamespaces", mostScanned);
  }
  if (operation.kind === "search") {
    return searchResult(operation, reply as string[], setting);
  }
  if (operation.kind === "listNamespaces") {
    return namespacesOf((reply as string[]).map(labelsOf), operation);
  }
  return operation.kind === "get" && typeof reply === "string" ? getResult(operation.name, reply, setting) : null;
}

async function getResult(name: string, record: string, { sealed }: BatchSetting): Promise<Item> {
  const stored = parseRecord(name, record);
  const open = await sealed.opener(noSession, [stored.text]);
  return itemOf(stored, open(stored.text, "", name));
}

async function searchResult(search: CheckedSearch, reply: readonly string[], setting: BatchSetting): Promise<Item[]> {
  const { filter, limit, offset } = search;
  const matches: { readonly item: Item; readonly stored: StoredItem }[] = [];
  const stored = storedItems(reply, setting);
  const open = await setting.sealed.opener(
    noSession,
    stored.map(({ text }) => text),
  );
  for (const one of stored) {
    const item = readable(() => itemOf(one, open(one.text, "", one.name)), setting);
    if (item !== undefined && matchesFilter(item.value, filter)) {
      matches.push({ item, stored: one });
    }
  }
  if (filter === undefined) {
    return matches.slice(0, limit).map(({ item }) => item);
  }
  const page = matches.slice(offset, offset + limit);
  const refreshed = page.filter(({ stored: { ttlAtReads } }) => ttlAtReads !== undefined);
  if (refreshed.length > 0) {
    await runOperations(
      setting.wire,
      "search",
      refreshed.map(({ stored: { name } }) => ["get", name]),
    );
  }
  return page.map(({ item }) => item);
}

function storedItems(reply: readonly string[], setting: BatchSetting): StoredItem[] {
  const stored: StoredItem[] = [];
  for (let index = 0; index < reply.length; index += 2) {
    const one = readable(() => parseRecord(reply[index]!, reply[index + 1]!), setting);
    if (one !== undefined) {
      stored.push(one);
    }
  }
  return stored;
}

/** The result of `read`; an item for which it throws is reported and skipped. */
function readable<T>(read: () => T, { onEvent }: BatchSetting): T | undefined {
  try {
    return read();
  } catch (error) {
    report(onEvent, { type: "record_skipped", sessionId: "", position: undefined, error: error as Error });
    return undefined;
  }
}

function itemOf({ name, created, updated }: StoredItem, text: string): Item {
  const { namespace, key } = partsOf(name);
  const [createdAt, updatedAt] = [new Date(created), new Date(updated)];
  return { value: itemValue(name, text), key, namespace, createdAt, updatedAt };
}

/** One operation of the script: its name and its arguments. */
type ScriptOperation = readonly [name: string, ...args: (string | number)[]];

/** Runs operations atomically and in order, with the data key of what they put; returns one reply per operation. */
function runOperations(
  scan: KeyScan,
  operation: string,
  operations: readonly ScriptOperation[],
  key = "",
): Promise<unknown[]> {
  const args = [key, ...operations.flatMap(([name, ...rest]) => [name, rest.length, ...rest])];
  const writes = operations.some(([name]) => name === "put" || name === "delete");
  return runOnItems(scan, operation, { script: runOperationsScript, args, writes });
}

/** The error for a search, or a list of namespaces, that would scan too many. */
function tooMany(operation: "search" | "listNamespaces", most: number): StoreError {
  const sentences = {
    search:
      `This search would scan more than ${most} items; nothing was read. Use a longer namespace prefix, or read ` +
      "pages without a filter (limit, offset).",
    listNamespaces:
      `This list would scan more than ${most} namespaces; nothing was read. Use a longer prefix, or read pages ` +
      'without a suffix and "*" (limit, offset).',
  };
  return new StoreError(sentences[operation], { code: "too_large", operation });
}

/** Filter operators. The ordering ones convert both operands to numbers, as LangGraph's stores do. */
const comparisons: Readonly<Record<string, (value: unknown, wanted: unknown) => boolean>> = {
  $eq: (value, wanted) => value === wanted,
  $ne: (value, wanted) => value !== wanted,
  $gt: (value, wanted) => Number(value) > Number(wanted),
  $gte: (value, wanted) => Number(value) >= Number(wanted),
  $lt: (value, wanted) => Number(value) < Number(wanted),
  $lte: (value, wanted) => Number(value) <= Number(wanted),
  $in: (value, wanted) => Array.isArray(wanted) && wanted.includes(value),
  $nin: (value, wanted) => !Array.isArray(wanted) || !wanted.includes(value),
};

/** True if the value satisfies the filter. A test compares it with LangGraph's `InMemoryStore`. */
function matchesFilter(
  value: Readonly<Record<string, unknown>>,
  filter: Readonly<Record<string, unknown>> | undefined,
): boolean {
  return Object.entries(filter ?? {}).every(([field, wanted]) => matches(value[field], wanted));
}

function matches(value: unknown, wanted: unknown): boolean {
  if (typeof wanted === "object" && wanted !== null) {
    const operators = Object.entries(wanted);
    if (operators.every(([name]) => Object.hasOwn(comparisons, name))) {
      return operators.every(([name, operand]) => comparisons[name]!(value, operand));
    }
  }
  return value === wanted;
}
