import { InvalidNamespaceError, type MatchCondition } from "@langchain/langgraph-checkpoint";
import { isLabel } from "../../store/redis/item-names.js";
import type { CheckedList } from "./operations.js";

/** Parameters of the script's namespace scan. */
export interface NamespaceScan {
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
export function checkNamespace(namespace: readonly unknown[]): asserts namespace is readonly string[] {
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
