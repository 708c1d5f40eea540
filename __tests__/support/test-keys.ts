import { createHash } from "node:crypto";
import type { EncryptionKey, EncryptionKeys } from "../../src/store/sealed/keys/key-ring.js";

/** A key for tests: the same for the same id. */
export function testKey(id: string): EncryptionKey {
  return { id, key: createHash("sha256").update(`test key ${id}`).digest() };
}

/** The first id names the current key, the others those before it. */
export function testKeys(current: string, ...previous: string[]): EncryptionKeys {
  return { current: testKey(current), previous: previous.map(testKey) };
}

/** What holds for plain sessions holds for encrypted ones: options of a memory, by name. */
export const plainAndEncrypted = [
  ["plain", {}],
  ["encrypted", { encryption: testKeys("k1") }],
] as const;
