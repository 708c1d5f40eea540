import type { MatchCondition } from "@langchain/langgraph-checkpoint";
import type { CheckedList } from "./operations.js";

/** Request to the script for a list of namespaces. */
export interface NamespaceScan {
  /** The labels that all of them begin with. */
  readonly prefix: readonly string[];
  /** Cut to so many labels, each once; undefined where they are cut here, behind the conditions. */
  readonly depth: number | undefined;
  /** True if all that the script finds is asked for, so that it can stop after a page. */
  readonly isExact: boolean;
}

/** Which namespaces have to be looked at. */
export function scanOf({ conditions, depth }: CheckedList): NamespaceScan {
  const first = conditions.find(({ matchType }) => matchType === "prefix")?.path ?? [];
  const wild = first.indexOf("*");
  const prefix = wild === -1 ? first : first.slice(0, wild);
  const isPrefixOnly = conditions.length === 0 || (conditions.length === 1 && first.length > 0 && wild === -1);
  const isCut = isPrefixOnly && depth !== Infinity && depth >= prefix.length;
  return { prefix, depth: isCut ? depth : undefined, isExact: isPrefixOnly && (isCut || depth === Infinity) };
}

/** The page of a list, from the namespaces that the script found. */
export function namespacesOf(
  found: readonly string[][],
  { conditions, depth, limit, offset }: CheckedList,
): string[][] {
  const chosen = new Map<string, string[]>();
  for (const namespace of found) {
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
