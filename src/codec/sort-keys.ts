/**
 * The value with the keys of all objects in ascending order, so that equal content gives equal JSON. Linear except for
 * the sorting.
 */
export function sortKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map(sortKeys);
  }
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) {
    const sorted = sortKeys((value as Record<string, unknown>)[key]);
    if (key === "__proto__") {
      Object.defineProperty(copy, key, { value: sorted, enumerable: true });
    } else {
      copy[key] = sorted;
    }
  }
  return copy;
}
