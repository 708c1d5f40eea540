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

/** True for a label of a namespace. */
export function isLabel(label: unknown): label is string {
  return typeof label === "string" && label !== "" && !/[.:\0]/.test(label) && label.isWellFormed();
}
