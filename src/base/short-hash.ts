import * as crypto from "node:crypto";

/** The first `length` characters of the text's SHA-256 in base64url, six bits each. */
export function shortHash(text: string, length: number): string {
  return sha256(text).slice(0, length);
}

/** The one-shot function takes half the time and less; Node.js has it from 20.12 on. */
const sha256: (text: string) => string =
  typeof crypto.hash === "function"
    ? (text) => crypto.hash("sha256", text, "base64url")
    : (text) => crypto.createHash("sha256").update(text).digest("base64url");
