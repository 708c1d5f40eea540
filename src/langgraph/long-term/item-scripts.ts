import { StoreError } from "../../base/errors.js";
import type { KeyScan } from "../../store/redis/scan-keys.js";
import { runOnItems } from "../../store/redis/stored-items.js";
import { runOperationsScript } from "./lua/scripts.js";

/** One operation of the script: its name and its arguments. */
export type ScriptOperation = readonly [name: string, ...args: (string | number)[]];

/** Runs operations atomically and in order, with the data key of what they put; returns one reply per operation. */
export function runOperations(
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
