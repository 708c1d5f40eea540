import { createHash } from "node:crypto";
import { maxTries } from "../base/tries.js";
import type { CallName } from "./errors.js";
import { swapTextsScript } from "./lua/later-scripts.js";
import { pairsIn } from "./pairs.js";
import type { ScriptRunner } from "./script-runner.js";

/** The place of a text in a thread or in long-term memory, to which it is sealed. */
export interface TextPlace {
  readonly format: "thread 1" | "item 1";
  /** The thread; empty for an item. */
  readonly id: string;
  readonly kind: TextKind;
  readonly name: string;
}

/**
 * The kind of a thread's text: an item, or the record of a checkpoint or of writes of the named one; empty in long-term
 * memory.
 */
export type TextKind = "item" | "checkpoint" | "writes" | "";

/** The current key of an encryption. */
export interface Sealing {
  /** The text sealed with it, of one that is plain or that another key sealed; undefined for one that it sealed. */
  reseal(text: string, place: TextPlace): Promise<string | undefined>;
  /** True for a sealed field, such as a text of a run, that it sealed. */
  hasSealed(field: string): boolean;
}

/** Result of a pass over the texts of some data. */
export interface Resealed {
  /** How many pieces of data there are: a thread or run counts as one. */
  readonly count: number;
  /** Texts that were sealed with the current key. */
  readonly sealed: number;
  /** Texts that still need another key. */
  readonly left: number;
}

/** Texts in Redis: the values of a hash, or of a list whose first position is the field `base` of that hash. */
export interface StoredTexts {
  readonly runner: ScriptRunner;
  readonly name: CallName;
  readonly hash: string;
  readonly list?: string;
}

/** The new text of a field, or of the item at a position; undefined where it stays. */
type Change = (text: string, name: string) => Promise<string | undefined>;

/** Most texts that one script replaces. */
const pageLength = 100;

/**
 * Passes over data until a pass changes nothing: others may write behind a pass. `left` is 0 then; of what was written
 * faster than that, it is not.
 */
export async function resealAll(pass: () => Promise<Resealed>): Promise<Resealed> {
  let sealed = 0;
  for (let count = 1; ; count += 1) {
    const done = await pass();
    sealed += done.sealed;
    const left = done.sealed + done.left;
    if (left === 0 || count === maxTries.write) {
      return { count: done.count, sealed, left };
    }
  }
}

/** Replaces values of a hash that `change` changes, beside writers; `count` is the number of its fields. */
export async function changeHash(texts: StoredTexts, change: Change): Promise<Resealed> {
  let done: Resealed = { count: 0, sealed: 0, left: 0 };
  let cursor = "0";
  do {
    const scan = { verb: "hscan", args: [texts.hash, cursor, "COUNT", pageLength] };
    const [[next, found]] = (await texts.runner.transaction(texts.name, [scan])) as [[string, string[]]];
    done = sumOf(done, await changePage(texts, pairsIn(found), change));
    cursor = next;
  } while (cursor !== "0");
  return done;
}

/** Replaces texts of a list that `change` changes, beside writers; `count` is the number of its texts. */
export async function changeList(texts: StoredTexts & { readonly list: string }, change: Change): Promise<Resealed> {
  const { runner, name, hash, list } = texts;
  let done: Resealed = { count: 0, sealed: 0, left: 0 };
  for (let [from, known] = [0, 0]; ;) {
    const index = Math.max(0, from - known);
    const [stored, page] = (await runner.transaction(name, [
      { verb: "hget", args: [hash, "base"] },
      { verb: "lrange", args: [list, index, index + pageLength - 1] },
    ])) as [string | null, string[]];
    const base = Number(stored ?? 0);
    if (base !== known) {
      // Texts were dropped in front: the page began too late.
      known = base;
    } else if (page.length === 0) {
      return done;
    } else {
      const pairs = page.map((text, at) => [String(base + index + at), text] as const);
      done = sumOf(done, await changePage(texts, pairs, change));
      from = base + index + page.length;
    }
  }
}

async function changePage(
  { runner, name, hash, list }: StoredTexts,
  page: readonly (readonly [name: string, text: string])[],
  change: Change,
): Promise<Resealed> {
  const args: string[] = [];
  for (const [field, text] of page) {
    const changed = await change(text, field);
    if (changed !== undefined) {
      args.push(field, createHash("sha1").update(text).digest("hex"), changed);
    }
  }
  if (args.length === 0) {
    return { count: page.length, sealed: 0, left: 0 };
  }
  const keys = list === undefined ? [hash] : [hash, list];
  const [, swapped] = (await runner.run(name, { script: swapTextsScript, keys, args, writes: true })) as unknown[];
  return { count: page.length, sealed: Number(swapped), left: args.length / 3 - Number(swapped) };
}

/** The results of two passes over parts of the same. */
export function sumOf(a: Resealed, b: Resealed): Resealed {
  return { count: a.count + b.count, sealed: a.sealed + b.sealed, left: a.left + b.left };
}
