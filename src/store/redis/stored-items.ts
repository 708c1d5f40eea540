import { StoreError } from "../../base/errors.js";
import { numberIn, unknownReply, type CallName } from "./errors.js";
import { boundsWithin, itemValue, parseRecord, recordOf } from "./item-records.js";
import { itemKeys } from "./keys.js";
import { clearItemsScript, importItemScript } from "./lua/later-scripts.js";
import type { KeyScan } from "./scan-keys.js";
import type { Script } from "./script.js";
import { isSealedText, type PlainTexts, type TextAtPlace } from "./thread-records.js";
import { keysField } from "./stored-fields.js";

/** Maximum number of items that one call removes. */
const removedAtOnce = 1_000;
/** Items that one call reads. */
const readAtOnce = 500;

/** An item of long-term memory as it is stored. */
export interface StoredItemRecord {
  readonly name: string;
  /** `created|updated|ttl on read|text`, whose text may be sealed. */
  readonly record: string;
  /** When it expires, in milliseconds since 1970; undefined for one that does not. */
  readonly expiresAt: number | undefined;
  /** The data keys of the store, a line each; to import one, that of its text. */
  readonly keys?: string | undefined;
}

/**
 * Runs a script on the items of a key prefix, and returns what follows the first word of its reply.
 *
 * @throws StoreError `damaged` where a part of them is missing.
 */
export async function runOnItems(
  { runner, keyPrefix }: KeyScan,
  operation: string,
  { script, args, writes }: { script: Script; args: readonly (string | number)[]; writes: boolean },
): Promise<unknown[]> {
  const name = nameOf(operation);
  const { values, names, expiry } = itemKeys(keyPrefix);
  const reply = await runner.run(name, { script, keys: [values, names, expiry], args, writes });
  const [word, ...rest] = reply as unknown[];
  if (word === "DAMAGED") {
    throw damagedItems(operation);
  }
  if (word !== "OK" && word !== "STORED") {
    throw unknownReply(name);
  }
  return rest;
}

/** Removes all items of a namespace and its descendants and returns their number; with [], all, damaged or not. */
export async function clearItems(scan: KeyScan, namespace: readonly string[]): Promise<number> {
  const call = { script: clearItemsScript, args: [...boundsWithin(namespace), removedAtOnce], writes: true };
  let removed = 0;
  for (;;) {
    const [count] = await runOnItems(scan, "deleteNamespace", call);
    const last = numberIn(count, nameOf("deleteNamespace"));
    removed += last;
    if (namespace.length === 0 || last < removedAtOnce) {
      return removed;
    }
  }
}

/** The items of a namespace and its descendants that have not expired, in pages. @throws StoreError `damaged`. */
export async function* readItems(
  { runner, keyPrefix }: KeyScan,
  namespace: readonly string[],
): AsyncGenerator<StoredItemRecord[]> {
  const { values, names, expiry } = itemKeys(keyPrefix);
  const name = nameOf("export");
  const [first, upper] = boundsWithin(namespace);
  let lower = first;
  for (;;) {
    const [count, named, mark, members, [seconds], keys] = (await runner.transaction(name, [
      { verb: "hlen", args: [values] },
      { verb: "zcard", args: [names] },
      { verb: "zscore", args: [expiry, ""] },
      { verb: "zrangebylex", args: [names, lower, upper, "LIMIT", 0, readAtOnce] },
      { verb: "time", args: [] },
      { verb: "hget", args: [values, keysField] },
    ])) as [number, number, string | null, string[], [string], string | null];
    const stored = count - (keys === null ? 0 : 1);
    if (stored !== named || stored > 0 !== (mark !== null)) {
      throw damagedItems("export");
    }
    if (members.length === 0) {
      return;
    }
    const [records, scores] = (await runner.transaction(name, [
      { verb: "hmget", args: [values, ...members] },
      { verb: "zmscore", args: [expiry, ...members] },
    ])) as [(string | null)[], (string | null)[]];
    yield members.flatMap((item, index) => {
      const [record, score] = [records[index], scores[index]];
      const expiresAt = score === null || score === undefined ? undefined : Number(score);
      const isLive = expiresAt === undefined || expiresAt > Number(seconds) * 1_000;
      // One that is gone was removed since its name was read.
      return typeof record === "string" && isLive ? [{ name: item, record, expiresAt, keys: keys ?? "" }] : [];
    });
    lower = `(${members.at(-1)!}`;
  }
}

/** The plain texts of items, and what they become. */
export async function* plainItems(scan: KeyScan, _: string, seal: TextAtPlace): AsyncGenerator<PlainTexts> {
  for await (const page of readItems(scan, [])) {
    const items = page.map(({ name, record }) => ({ record, ...parseRecord(name, record) }));
    const plain = items.filter(({ text }) => !isSealedText(text));
    const texts = plain.map((item) => {
      return [item.name, item.record, recordOf({ ...item, text: seal(item.text, "", item.name) })] as const;
    });
    yield { part: "values", texts };
  }
}

/** Says which items cannot be read, and whether a part is missing. Sealed values are not opened. */
export async function checkItems(scan: KeyScan): Promise<string[]> {
  const problems: string[] = [];
  try {
    for await (const page of readItems(scan, [])) {
      for (const { name, record } of page) {
        try {
          const { text } = parseRecord(name, record);
          void (isSealedText(text) || itemValue(name, text));
        } catch (error) {
          problems.push((error as Error).message);
        }
      }
    }
  } catch (error) {
    if (!StoreError.isInstance(error) || error.code !== "damaged") {
      throw error;
    }
    problems.push(error.message);
  }
  return problems;
}

/** Writes an item, where there is none of its name; else returns the record that is there. */
export async function importItem(
  scan: KeyScan,
  { name, record, expiresAt, keys }: StoredItemRecord,
): Promise<string | undefined> {
  const args = [name, record, expiresAt ?? "", keys ?? ""];
  const [stored] = await runOnItems(scan, "import", { script: importItemScript, args, writes: true });
  return stored as string | undefined;
}

/** The error for long-term memory of which a key is missing, or a part of one. */
function damagedItems(operation: string): StoreError {
  return new StoreError(
    "A part of the RedisStore is missing in Redis (evicted or deleted); nothing was read or written. Remove the rest " +
      "with deleteNamespace([]).",
    { code: "damaged", operation },
  );
}

function nameOf(operation: string): CallName {
  return { operation, sessionId: "", subject: "store" };
}
