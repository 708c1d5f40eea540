import * as z from "zod/mini";
import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import type {
  ListNamespacesOperation,
  MatchCondition,
  Operation,
  PutOperation,
  SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { ConfigurationError } from "../../base/errors.js";
import { lazy, parseOptions, timeToLive, withoutUndefined, type TimeToLive, type TTL } from "../../base/options.js";
import { checkText } from "../checkpoint/config.js";
import { nameOf, isLabel } from "../../store/redis/item-records.js";

/** Maximum number of items that a search scans, and of namespaces that a list scans. */
export const mostScanned = 10_000;

/** A `put` that may override the store's expiry. */
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

/** A checked search. */
export interface CheckedSearch {
  readonly kind: "search";
  readonly prefix: readonly string[];
  readonly filter: Readonly<Record<string, unknown>> | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** A checked listing of namespaces. */
export interface CheckedList {
  readonly kind: "listNamespaces";
  readonly conditions: readonly MatchCondition[];
  /** Maximum number of labels; Infinity: whole namespaces. */
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
  return "namespace" in operation
    ? { kind: "get", name: checkedName(operation.namespace, operation.key) }
    : checkedList(operation);
}

function checkedName(namespace: readonly string[], key: string): string {
  checkNamespace(namespace);
  checkText("key", key);
  return nameOf(namespace, key);
}

/** Schema of the options of a single `put`. */
const putSchema = lazy(() => z.strictObject({ itemTTL: z.optional(timeToLive()) }));

function checkedPut({ namespace, key, value, itemTTL }: ItemPut, ttl: TimeToLive | undefined): CheckedOperation {
  const name = checkedName(namespace, key);
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
      "RedisStore has no vector index and cannot search by a query. Search by namespace and filter, or use a vector " +
        "store for semantic search.",
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
    text = typeof value === "object" ? JSON.stringify(value, refuseLost) : undefined;
  } catch (error) {
    cause = error;
  }
  if (text === undefined || !/^[{[]/.test(text)) {
    throw new ConfigurationError("value", "The value of an item must be a JSON-serializable object.", cause);
  }
  return text;
}

/** Objects of which JSON keeps nothing, and bytes. */
const lostKinds = /^\[object (?:(?:Weak)?(?:Map|Set)|RegExp|Error|Promise|\w+Array|\w*ArrayBuffer|DataView)\]$/;

/** A replacer that refuses what would come back as something else: JSON writes a Set as an empty object. */
function refuseLost(this: unknown, _: string, value: unknown): unknown {
  const isNumber = typeof value === "number" && !Number.isFinite(value);
  const isHole = value === undefined && Array.isArray(this);
  const isObject = typeof value === "object" && lostKinds.test(Object.prototype.toString.call(value));
  if (isNumber || isHole || isObject || typeof value === "function" || typeof value === "symbol") {
    throw new TypeError("JSON cannot hold a part of the value.");
  }
  return value;
}

/** Parameters of the script's namespace scan. */
interface NamespaceScan {
  /** Common prefix of the scanned namespaces. */
  readonly prefix: readonly string[];
  /**
   * Labels to which the script truncates namespaces, without duplicates; undefined if {@link namespacesOf} does it,
   * because conditions apply to whole namespaces.
   */
  readonly depth: number | undefined;
  /** True if every scanned namespace matches, so that the script can stop after one page. */
  readonly isExact: boolean;
}

/** The smallest scan that covers every namespace that can match. */
export function scanOf({ conditions, depth }: CheckedList): NamespaceScan {
  const first = conditions.find(({ matchType }) => matchType === "prefix")?.path ?? [];
  const wild = first.indexOf("*");
  const prefix = wild === -1 ? first : first.slice(0, wild);
  const isPrefixOnly = conditions.length === 0 || (conditions.length === 1 && first.length > 0 && wild === -1);
  const isCut = isPrefixOnly && depth !== Infinity && depth >= prefix.length;
  return { prefix, depth: isCut ? depth : undefined, isExact: isPrefixOnly && (isCut || depth === Infinity) };
}

/** Filters, truncates and pages the scanned namespaces. */
export function namespacesOf(
  namespaces: readonly string[][],
  { conditions, depth, limit, offset }: CheckedList,
): string[][] {
  const chosen = new Map<string, string[]>();
  for (const namespace of namespaces) {
    if (conditions.every((condition) => fits(namespace, condition))) {
      const cut = namespace.slice(0, depth);
      chosen.set(cut.join("\0"), cut);
    }
  }
  return [...chosen.values()].slice(offset, offset + limit);
}

function fits(namespace: readonly string[], { matchType, path }: MatchCondition): boolean {
  const from = matchType === "prefix" ? 0 : namespace.length - path.length;
  const isLongEnough = namespace.length >= path.length;
  return isLongEnough && path.every((label, index) => label === "*" || namespace[from + index] === label);
}

/**
 * Refuses a namespace as LangGraph's stores do.
 *
 * @throws InvalidNamespaceError
 */
function checkNamespace(namespace: readonly unknown[]): asserts namespace is readonly string[] {
  if (namespace.length === 0) {
    throw new InvalidNamespaceError("Namespace cannot be empty.");
  }
  checkLabels(namespace);
}

/**
 * Refuses invalid labels.
 *
 * @throws InvalidNamespaceError
 */
export function checkLabels(labels: readonly unknown[]): asserts labels is readonly string[] {
  for (const label of labels) {
    if (!isLabel(label)) {
      throw new InvalidNamespaceError(
        "A namespace label must be a non-empty, well-formed string without periods, colons and NUL characters.",
      );
    }
  }
}
