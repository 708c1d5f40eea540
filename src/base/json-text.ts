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
