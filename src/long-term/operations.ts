import type {
  GetOperation,
  ListNamespacesOperation,
  MatchCondition,
  Operation,
  PutOperation,
  SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { ConfigurationError } from "../base/errors.js";
import { parseOptions, withoutUndefined, type TimeToLive, type TTL } from "../base/options.js";
import { checkKey, checkLabels, checkNamespace, nameOf } from "./item-names.js";
import { putSchema } from "./store-options.js";

/** Most items that a search goes through, and most namespaces of a list. */
export const mostScanned = 10_000;

/** A `put` with an expiry of its own. */
export interface ItemPut extends PutOperation {
  readonly itemTTL?: TTL | undefined;
}

/** A checked operation of a batch. */
export type CheckedOperation =
  | { readonly kind: "get"; readonly name: string }
  | { readonly kind: "delete"; readonly name: string }
  | { readonly kind: "put"; readonly name: string; readonly text: string; readonly ttl: TimeToLive | undefined }
  | CheckedSearch
  | CheckedList;

/** A search, checked. */
export interface CheckedSearch {
  readonly kind: "search";
  readonly prefix: readonly string[];
  readonly filter: Readonly<Record<string, unknown>> | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** A list of namespaces, checked. */
export interface CheckedList {
  readonly kind: "listNamespaces";
  readonly conditions: readonly MatchCondition[];
  /** Infinity for whole namespaces. */
  readonly depth: number;
  readonly limit: number;
  readonly offset: number;
}

/**
 * Checks an operation of a batch.
 *
 * @throws InvalidNamespaceError, ConfigurationError
 */
export function checkOperation(operation: Operation, ttl: TimeToLive | undefined): CheckedOperation {
  if ("namespacePrefix" in operation) {
    return checkedSearch(operation);
  }
  if ("value" in operation) {
    return checkedPut(operation, ttl);
  }
  return "namespace" in operation ? checkedGet(operation) : checkedList(operation);
}

function checkedGet({ namespace, key }: GetOperation): CheckedOperation {
  checkNamespace(namespace);
  checkKey(key);
  return { kind: "get", name: nameOf(namespace, key) };
}

function checkedPut({ namespace, key, value, itemTTL }: ItemPut, ttl: TimeToLive | undefined): CheckedOperation {
  checkNamespace(namespace);
  checkKey(key);
  const name = nameOf(namespace, key);
  if (value === null) {
    return { kind: "delete", name };
  }
  const own = parseOptions("put", putSchema(), withoutUndefined({ itemTTL })).itemTTL;
  return { kind: "put", name, text: textOf(value), ttl: own ?? ttl };
}

function checkedSearch({ namespacePrefix, filter, limit, offset, query }: SearchOperation): CheckedSearch {
  checkLabels(namespacePrefix);
  if (query !== undefined && query !== "") {
    throw new ConfigurationError(
      "query",
      "RedisStore has no index of vectors, so it cannot search by a query. Search by namespace and filter, or keep " +
        "what is to be found by meaning in a vector store.",
    );
  }
  return { kind: "search", prefix: namespacePrefix, filter, ...pageOf(limit ?? 10, offset) };
}

function checkedList({ matchConditions, maxDepth, limit, offset }: ListNamespacesOperation): CheckedList {
  const conditions = matchConditions ?? [];
  conditions.forEach(({ path }) => checkLabels(path));
  if (maxDepth !== undefined && !(Number.isInteger(maxDepth) && maxDepth >= 1)) {
    throw new ConfigurationError("maxDepth", "maxDepth must be a positive integer.");
  }
  return { kind: "listNamespaces", conditions, depth: maxDepth ?? Infinity, ...pageOf(limit ?? Infinity, offset) };
}

function pageOf(limit: number, offset = 0) {
  for (const [name, value] of Object.entries({ limit, offset })) {
    if (!(Number.isInteger(value) || value === Infinity) || value < 0) {
      throw new ConfigurationError(name, `${name} must be an integer of 0 or more.`);
    }
  }
  return { limit, offset };
}

function textOf(value: unknown): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = typeof value === "object" ? JSON.stringify(value) : undefined;
  } catch (error) {
    cause = error;
  }
  if (text === undefined || !/^[{[]/.test(text)) {
    throw new ConfigurationError("value", "The value of an item must be an object that JSON can hold.", cause);
  }
  return text;
}
