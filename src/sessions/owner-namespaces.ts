import { ConfigurationError } from "../base/errors.js";
import { isLabel } from "../redis/item-names.js";
import type { MemorySettings } from "../session/memory-context.js";

/**
 * The namespaces of an owner; undefined where nobody says which they are.
 *
 * @throws ConfigurationError for an empty namespace, which would be everybody's, and for what is none.
 */
export function namespacesOf(
  ownerNamespaces: MemorySettings["ownerNamespaces"],
  owner: string,
): readonly (readonly string[])[] | undefined {
  const namespaces: unknown = ownerNamespaces?.(owner);
  if (ownerNamespaces === undefined) {
    return undefined;
  }
  const isRight = (one: unknown) => Array.isArray(one) && one.length > 0 && one.every(isLabel);
  if (!Array.isArray(namespaces) || !namespaces.every(isRight)) {
    const sentence = 'Option "ownerNamespaces" must return namespaces: arrays of one or more labels each, which are';
    throw new ConfigurationError("ownerNamespaces", `${sentence} texts without periods, colons and NUL characters.`);
  }
  return namespaces as string[][];
}
