import { createHash } from "node:crypto";
import type { RecordIdentity } from "./session-store.js";

/** The first 10 bytes of the id's SHA-256: enough that ten million messages of one session share none by chance. */
export function idHash(id: string): Buffer {
  return createHash("sha256").update(id).digest().subarray(0, 10);
}

/** Hashes of ids, one after the other. */
export function packIds(ids: readonly string[]): Buffer {
  const packed = Buffer.allocUnsafe(10 * ids.length);
  ids.forEach((id, index) => idHash(id).copy(packed, 10 * index));
  return packed;
}

/** Per record 16 bytes: the id's hash and the digest. */
export function packIdentities(identities: readonly RecordIdentity[]): Buffer {
  const packed = Buffer.allocUnsafe(16 * identities.length);
  identities.forEach(({ id, digest }, index) => {
    idHash(id).copy(packed, 16 * index);
    packed.write(digest, 16 * index + 10, "hex");
  });
  return packed;
}
