/**
 * The value as JSON, big integers as texts of digits; undefined if JSON has none for it, as for a function or a
 * circular value. Never throws.
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
