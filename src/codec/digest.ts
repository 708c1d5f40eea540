import * as crypto from "node:crypto";

/** The first `length` characters of the text's SHA-256 in base64url, six bits each. */
export function shortHash(text: string, length: number): string {
  return sha256(text).slice(0, length);
}

/** The one-shot function takes half the time; Node.js has it from 20.12 on. */
const sha256: (text: string) => string =
  typeof crypto.hash === "function"
    ? (text) => crypto.hash("sha256", text, "base64url")
    : (text) => crypto.createHash("sha256").update(text).digest("base64url");

/** The value with the keys of all objects in ascending order, so that equal content gives equal JSON. Linear but for the sorting. */
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
