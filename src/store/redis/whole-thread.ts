import { refusalFrom } from "../contract/refusals.js";
import type { CallName } from "./errors.js";
import { threadKeys } from "./keys.js";
import { eraseThreadScript, importThreadScript } from "./lua/later-scripts.js";
import { pairsIn, changedField, isSealedText, isTextItem } from "./thread-records.js";
import type { PlainTexts, TextKind, TextAtPlace } from "./thread-records.js";
import type { KeyScan } from "./scan-keys.js";
import { keysField } from "./stored-fields.js";

/** Items, and fields of checkpoints, that one page holds. */
const pageLength = 100;

/** A whole stored thread. */
export interface WholeThread {
  readonly items: readonly string[];
  /** Names and values of `checkpoints`, but the data keys. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly members: readonly string[];
  /** The data keys of its texts, a line each. */
  readonly keys?: string | undefined;
}

/** A whole thread as it was read. */
export interface StoredThread extends WholeThread {
  /** Milliseconds that it still lives; undefined if it does not expire. */
  readonly left: number | undefined;
}

/** A whole thread at one moment; empty for none, or a tombstone. */
export async function readThread(
  { runner, keyPrefix }: KeyScan,
  threadId: string,
  operation: string,
): Promise<StoredThread> {
  const { items, checkpoints, order } = threadKeys(keyPrefix, threadId);
  const [texts, stored, members, left] = (await runner.transaction(nameOf(threadId, operation), [
    { verb: "lrange", args: [items, 0, -1] },
    { verb: "hgetall", args: [checkpoints] },
    { verb: "zrevrange", args: [order, 0, -1] },
    { verb: "pttl", args: [checkpoints] },
  ])) as [string[], string[] | Map<string, string> | Record<string, string>, string[], number];
  // As the application's reply transformers and the protocol have it.
  const isList = Array.isArray(stored);
  const pairs = isList ? pairsIn(stored) : [...(stored instanceof Map ? stored : Object.entries(stored))];
  const fields = pairs.some(([name]) => name === "erased") ? [] : pairs.filter(([name]) => name !== keysField);
  const keys = pairs.find(([name]) => name === keysField)?.[1];
  return { items: texts, fields, members, keys, left: left < 0 ? undefined : left };
}

/**
 * Writes a whole thread: `OK`, `SAME` where it is there and has not changed since, `EXISTS` where there is another.
 *
 * @throws StoreError `erased`.
 */
export async function writeThread(
  { runner, keyPrefix }: KeyScan,
  threadId: string,
  { thread, ttl, operation }: { thread: WholeThread; ttl: number | undefined; operation: string },
): Promise<"OK" | "SAME" | "EXISTS"> {
  const { items, fields, members } = thread;
  const keys = threadKeys(keyPrefix, threadId);
  const request = {
    items: items.length,
    fields: 2 * fields.length,
    token: fieldIn(thread, "token"),
    count: members.length,
    keys: thread.keys,
    ttl,
  };
  const args = [JSON.stringify(request), ...items, ...fields.flat(), ...members.flatMap((member) => ["0", member])];
  const call = { script: importThreadScript, keys: [keys.items, keys.checkpoints, keys.order], args, writes: true };
  const name = nameOf(threadId, operation);
  const [word] = (await runner.run(name, call)) as ["OK" | "SAME" | "EXISTS" | "ERASED"];
  if (word === "ERASED") {
    throw refusalFrom(word, undefined, name)!;
  }
  return word;
}

/** The value of a field, such as `owner`. */
function fieldIn({ fields }: WholeThread, name: string): string | undefined {
  return fields.find(([field]) => field === name)?.[1];
}

/** False where Redis lost a part of it. */
export function isWhole(thread: WholeThread): boolean {
  const length = Number(fieldIn(thread, "next")) - Number(fieldIn(thread, "base"));
  return thread.items.length === length && thread.members.length === Number(fieldIn(thread, "count"));
}

/** A thread with each of its texts changed; a text for which `change` returns undefined stays. */
export async function withTexts<Thread extends WholeThread>(
  thread: Thread,
  change: (text: string, kind: TextKind, name: string) => Promise<string | undefined>,
): Promise<Thread> {
  const items = thread.items.map(async (item) => (isTextItem(item) && (await change(item, "item", ""))) || item);
  const fields = thread.fields.map(
    async ([name, value]) => [name, (await changedField(name, value, change)) ?? value] as const,
  );
  return { ...thread, items: await Promise.all(items), fields: await Promise.all(fields) };
}

/** The plain texts of a thread, page by page, and what they become. */
export async function* plainTexts(scan: KeyScan, threadId: string, seal: TextAtPlace): AsyncGenerator<PlainTexts> {
  const { items, checkpoints } = threadKeys(scan.keyPrefix, threadId);
  const name = nameOf(threadId, "reencrypt");
  const change = async (...[text, ...place]: Parameters<TextAtPlace>) =>
    isSealedText(text) ? undefined : seal(text, ...place);
  for (let [base, next, isMore] = [0, 0, true]; isMore;) {
    const from = Math.max(0, next - base);
    const [first, page] = (await scan.runner.transaction(name, [
      { verb: "hget", args: [checkpoints, "base"] },
      { verb: "lrange", args: [items, from, from + pageLength - 1] },
    ])) as [string | null, string[]];
    // Else items were dropped since the page before, and others have their places.
    if (Number(first) === base) {
      const texts = page.map((text, index) => [String(base + from + index), text] as const);
      const plain = texts.filter(([, text]) => isTextItem(text) && !isSealedText(text));
      yield { part: "items", texts: plain.map(([at, text]) => [at, text, seal(text, "item", "")]) };
      next = base + from + page.length;
      isMore = page.length === pageLength;
    }
    base = Number(first);
  }
  for (let cursor: string | undefined = "0"; cursor !== undefined;) {
    const command = { verb: "hscan", args: [checkpoints, cursor, "COUNT", pageLength] };
    const [next, reply] = (await scan.runner.read(name, command)) as [string, string[]];
    const texts: [string, string, string][] = [];
    for (const [field, stored] of pairsIn(reply)) {
      const sealed = await changedField(field, stored, change);
      texts.push(...(sealed === undefined ? [] : [[field, stored, sealed] satisfies [string, string, string]]));
    }
    yield { part: "checkpoints", texts };
    cursor = next === "0" ? undefined : next;
  }
}

function nameOf(sessionId: string, operation: string): CallName {
  return { operation, sessionId, subject: "thread" };
}

/**
 * Removes a thread, whole or damaged, by erase-thread.lua; returns its reply. Names `checkpoints` alone where the other
 * keys are missing: a cluster refuses a script that names missing keys of a migrating slot.
 */
export async function eraseThread({ runner, keyPrefix }: KeyScan, name: CallName, request: string): Promise<string[]> {
  const { items, checkpoints, order } = threadKeys(keyPrefix, name.sessionId);
  const others = [items, order].map((key) => runner.command(name, { verb: "exists", args: [key] }, [key]));
  const isAlone = (await Promise.all(others)).every((count) => Number(count) === 0);
  const call = { script: eraseThreadScript, args: [request], writes: true };
  const gone = isAlone && ((await runner.run(name, { ...call, keys: [checkpoints] })) as string[]);
  return gone && gone[0] !== "WHOLE"
    ? gone
    : ((await runner.run(name, { ...call, keys: [items, checkpoints, order] })) as string[]);
}
