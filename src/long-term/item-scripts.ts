import { StoreError } from "../base/errors.js";
import { numberIn, unknownReply, type CallName } from "../redis/errors.js";
import { itemKeys } from "../redis/keys.js";
import type { Script } from "../redis/script.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import type { NameBounds } from "./item-names.js";
import { clearItemsScript, runOperationsScript } from "./lua/scripts.js";

/** One operation of the script: its name and its arguments. */
export type ScriptOperation = readonly [name: string, ...args: (string | number)[]];

/** The scripts of long-term memory, on three keys in one hash slot. */
export class ItemScripts {
  readonly #runner: ScriptRunner;
  readonly #keys: readonly string[];

  constructor(runner: ScriptRunner, keyPrefix: string) {
    this.#runner = runner;
    const { values, names, expiry } = itemKeys(keyPrefix);
    this.#keys = [values, names, expiry];
  }

  /** Runs operations atomically and in order; returns one reply per operation. */
  async run(operation: string, operations: readonly ScriptOperation[]): Promise<unknown[]> {
    const args = operations.flatMap(([name, ...rest]) => [name, rest.length, ...rest]);
    const writes = operations.some(([name]) => name === "put" || name === "delete");
    return this.#send(operation, runOperationsScript, args, writes);
  }

  /** Removes at most `most` items of a range and returns their number. */
  async clear(bounds: NameBounds, most: number): Promise<number> {
    const [removed] = await this.#send("deleteNamespace", clearItemsScript, [...bounds, most], true);
    return numberIn(removed, { operation: "deleteNamespace", sessionId: "", subject: "store" });
  }

  async #send(operation: string, script: Script, args: readonly (string | number)[], writes: boolean) {
    const name: CallName = { operation, sessionId: "", subject: "store" };
    const reply = await this.#runner.run(name, { script, keys: this.#keys, args, writes });
    const [word, ...rest] = reply as unknown[];
    if (word === "DAMAGED") {
      throw damaged(operation);
    }
    if (word !== "OK") {
      throw unknownReply(name);
    }
    return rest;
  }
}

function damaged(operation: string): StoreError {
  return new StoreError(
    "A part of the RedisStore is missing in Redis (evicted or deleted); nothing was read or written. Remove the rest " +
      "with deleteNamespace([]).",
    { code: "damaged", operation },
  );
}

/** The error for a search, or a list of namespaces, that would scan too many. */
export function tooMany(operation: "search" | "listNamespaces", most: number): StoreError {
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
