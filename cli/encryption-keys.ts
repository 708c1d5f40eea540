import { type EncryptionKey, type EncryptionKeys, isKeyId, keyBytes } from "../src/store/sealed/keys/key-ring.js";
import { UsageError } from "./failure.js";

/**
 * The keys in a text such as `2026-11:<base64>,2026-05:<base64>`; the first seals what is written. Undefined for none.
 *
 * @throws UsageError that says which key is wrong by its place; never with a part of it.
 */
export function encryptionKeysIn(text: string | undefined): EncryptionKeys | undefined {
  if (text === undefined || text.trim() === "") {
    return undefined;
  }
  const [current, ...previous] = text.split(",").map((part, index) => keyIn(part.trim(), index + 1));
  return { current: current!, previous };
}

function keyIn(part: string, place: number): EncryptionKey {
  const colon = part.lastIndexOf(":");
  const [id, encoded] = [part.slice(0, Math.max(0, colon)), part.slice(colon + 1)];
  const key = Buffer.from(encoded, "base64");
  const isEncoded = /^[\w+/-]+={0,2}$/.test(encoded);
  if (!isKeyId(id) || !isEncoded || key.length !== keyBytes) {
    throw new UsageError(
      `${keysVariable}: key ${place} must be an id, a colon and ${keyBytes} bytes in base64; ` +
        "several keys are separated by commas, the current one first.",
    );
  }
  return { id, key: new Uint8Array(key) };
}

/** The environment variable that holds the keys of encrypted sessions. */
export const keysVariable = "LANGCHAIN_REDIS_MEMORY_KEYS";
