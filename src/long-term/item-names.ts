import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { checkText } from "../checkpoint/config.js";

/** Between the labels of a namespace; two of it end the namespace. No label is empty or holds it. */
const separator = "\0";
const end = separator.repeat(2);

/** Bounds of names as Redis takes them. */
export type NameBounds = readonly [lower: string, upper: string];

/** The name of an item. Names in order of text are in order of their namespaces, each in front of those below it. */
export function nameOf(namespace: readonly string[], key: string): string {
  return namespace.join(separator) + end + key;
}

/** Namespace and key of a name. */
export function partsOf(name: string): { readonly namespace: string[]; readonly key: string } {
  const at = name.indexOf(end);
  return { namespace: labelsOf(name.slice(0, at)), key: name.slice(at + end.length) };
}

/** The labels of a namespace as it stands in a name. */
export function labelsOf(namespace: string): string[] {
  return namespace.split(separator);
}

/** The bounds of all names in a namespace and those below it; of all names for no labels. */
export function boundsWithin(prefix: readonly string[]): NameBounds {
  const first = prefix.join(separator);
  return prefix.length === 0 ? ["-", "+"] : [`[${first}${separator}`, `(${first}\u0001`];
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
 * Refuses labels that no namespace has.
 *
 * @throws InvalidNamespaceError
 */
export function checkLabels(labels: readonly unknown[]): asserts labels is readonly string[] {
  for (const label of labels) {
    if (typeof label !== "string" || label === "" || /[.:\0]/.test(label) || !label.isWellFormed()) {
      throw new InvalidNamespaceError(
        "A label of a namespace must be a string that is not empty, without periods, colons, NUL and halves of " +
          "surrogate pairs.",
      );
    }
  }
}

/** Refuses a key that could not be told from another one in Redis. */
export function checkKey(key: unknown): asserts key is string {
  checkText("key", key);
}
