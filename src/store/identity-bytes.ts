import { createHash } from "node:crypto";
import type { RecordIdentity } from "./session-store.js";

/** The first 10 bytes of the id's SHA-256: enough that ten million messages of one session share none by chance. */
export function idHash(id: string): Buffer {
  return createHash("sha256").update(id).digest().subarray(0, 10);
}

/** Hashes of ids, one after the other. */
export function packIds(ids: readonly string[]): Buffer {
  return Buffer.concat(ids.map(idHash));
}

/** Per record 16 bytes: the id's hash and the digest. */
export function packIdentities(identities: readonly RecordIdentity[]): Buffer {
  return Buffer.concat(identities.flatMap(({ id, digest }) => [idHash(id), Buffer.from(digest, "hex")]));
}
