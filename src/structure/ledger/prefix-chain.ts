import { shortHash } from "../../base/ids.js";

/** 64 bits of a hash, as two 32-bit integers. */
export interface Digest {
  readonly high: number;
  readonly low: number;
}

/** The hash of a text. */
export function digestOf(text: string): Digest {
  const bytes = Buffer.from(shortHash(text, 12), "base64url");
  return { high: bytes.readInt32LE(0), low: bytes.readInt32LE(4) };
}

/**
 * The digest of a list that goes on with one more element. Two lists have one digest by accident only, also where they
 * hold the same elements in another order: each step is a bijection of the digest before it.
 */
export function extended({ high, low }: Digest, { high: nextHigh, low: nextLow }: Digest): Digest {
  const mixed = Math.imul(high ^ nextHigh, 0x9e3779b1);
  const a = mixed ^ (mixed >>> 15);
  const crossed = Math.imul(low ^ nextLow ^ a, 0x85ebca6b);
  const b = crossed ^ (crossed >>> 13);
  return { high: (a + Math.imul(b, 0xc2b2ae35)) | 0, low: b };
}

const bytes = Buffer.alloc(6);

/** Eight characters: 48 bits of a digest. */
export function digestText({ high, low }: Digest): string {
  bytes.writeInt32LE(high, 0);
  bytes.writeInt16LE((low << 16) >> 16, 4);
  return bytes.toString("base64url");
}
