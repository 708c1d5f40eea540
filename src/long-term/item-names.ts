import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";

/** Separates labels; doubled, it ends the namespace. Labels are not empty and cannot contain it. */
const separator = "\0";
const end = separator.repeat(2);

/** A range of names in the syntax of ZRANGEBYLEX. */
export type NameBounds = readonly [lower: string, upper: string];

/** The member name of an item. Lexicographic order sorts items by namespace, each before its descendants. */
export function nameOf(namespace: readonly string[], key: string): string {
  return namespace.join(separator) + end + key;
}

/** Namespace and key of a name. */
export function partsOf(name: string): { readonly namespace: string[]; readonly key: string } {
  const at = name.indexOf(end);
  return { namespace: labelsOf(name.slice(0, at)), key: name.slice(at + end.length) };
}

/** Splits the namespace part of a name into labels. */
export function labelsOf(namespace: string): string[] {
  return namespace.split(separator);
}

/** The range of a namespace and its descendants; without labels, the range of everything. */
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
 * Refuses invalid labels.
 *
 * @throws InvalidNamespaceError
 */
export function checkLabels(labels: readonly unknown[]): asserts labels is readonly string[] {
  for (const label of labels) {
    if (typeof label !== "string" || label === "" || /[.:\0]/.test(label) || !label.isWellFormed()) {
      throw new InvalidNamespaceError(
        "A namespace label must be a non-empty, well-formed string without periods, colons and NUL characters.",
      );
    }
  }
}
