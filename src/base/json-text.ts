/**
 * The value as JSON, big integers as strings; undefined for values without JSON, such as functions and circular values.
 * Never throws.
 */
export function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return withBigIntegers(value);
  }
}

function withBigIntegers(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner));
  } catch {
    return undefined;
  }
}

/**
 * True for any values of which JSON holds the same, whatever the order of keys. Never throws.
 */
export function sameAsJson(a: unknown, b: unknown): boolean {
  const [one, other] = [jsonText(a), jsonText(b)];
  // Another order of keys makes a text of the same length.
  const mayBe = one !== undefined && one.length === other?.length;
  return one === other || (mayBe && canonicalText(one) === canonicalText(other!));
}

function canonicalText(json: string): string {
  try {
    return JSON.stringify(sortKeys(JSON.parse(json)));
  } catch {
    // Nested too deep for a walk.
    return json;
  }
}

/** Canonical form: the value with the keys of all objects in ascending order. Linear except for the sorting. */
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
