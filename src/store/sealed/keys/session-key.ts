import * as crypto from "node:crypto";
import { shortHash } from "../../../base/ids.js";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const poolNonces = 256;

/** A data key of one session, thread, run or store of items: seals and opens its texts, and makes its digests. */
export class SessionKey {
  /** Names the key in what it seals. */
  readonly id: string;
  readonly #sealing: crypto.KeyObject;
  readonly #digesting: string;

  /** Takes a key of 32 random bytes. Its texts open under this name and session only: both are part of the keys. */
  constructor(key: Uint8Array, id: string, sessionId: string) {
    const label = `langchain-redis-memory 3 ${measured(id)}${sessionId}`;
    const bytes = crypto.createHmac("sha512", key).update(label, "utf16le").digest();
    this.id = id;
    this.#sealing = crypto.createSecretKey(bytes.subarray(0, 32));
    this.#digesting = bytes.toString("base64url", 32);
    bytes.fill(0);
  }

  /** Encrypts a text for the place where alone it opens: nonce, encrypted text and tag. */
  seal(text: string, place: Buffer): Buffer {
    const nonce = nextNonce();
    return Buffer.concat([nonce, ...encrypted(this.#sealing, nonce, text, place)]);
  }

  /** The same for equal texts of a place: the nonce is made from both by the digesting key. */
  sealSame(text: string, place: Buffer): Buffer {
    const mac = crypto.createHmac("sha256", this.#digesting).update(place).update(text).digest();
    const nonce = mac.subarray(0, nonceBytes);
    return Buffer.concat([nonce, ...encrypted(this.#sealing, nonce, text, place)]);
  }

  /** Decrypts what `seal` made for the same place; undefined for anything else. */
  open(bytes: Buffer, place: Buffer): string | undefined {
    const [nonce, sealed] = [bytes.subarray(0, nonceBytes), bytes.subarray(nonceBytes)];
    // As bytes: a cipher that returns text makes a decoder for it, which takes as long as the decryption.
    return decrypted(this.#sealing, nonce, sealed, place)?.toString("utf8");
  }

  /** The keyed form of a digest: 8 characters of base64url. */
  digest(digest: string): string {
    // All digests are equally long, and most of the hash stays secret: key and text in one block need no HMAC.
    return shortHash(this.#digesting + digest, 8);
  }
}

/** A text with its length, so that no two lists of texts read the same. */
export function measured(text: string): string {
  return `${text.length}:${text}`;
}

/** The encrypted text, and its tag. */
export function encrypted(key: crypto.CipherKey, nonce: Buffer, text: string | Buffer, place: Buffer): Buffer[] {
  const cipher = crypto.createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(place);
  const body = cipher.update(text as string, "utf8");
  cipher.final();
  return [body, cipher.getAuthTag()];
}

/** The bytes that were encrypted for the same place; undefined for anything else. */
export function decrypted(key: crypto.CipherKey, nonce: Buffer, sealed: Buffer, place: Buffer): Buffer | undefined {
  if (sealed.length < tagBytes) {
    return undefined;
  }
  // Without a length of the tag, four bytes of it would be enough.
  const cipher = crypto.createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(place);
  cipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    const body = cipher.update(sealed.subarray(0, -tagBytes));
    cipher.final();
    return body;
  } catch {
    return undefined;
  }
}

let pool = Buffer.alloc(0);

/** Random bytes cost a call of the system: one for many nonces. */
function nextNonce(): Buffer {
  if (pool.length === 0) {
    pool = crypto.randomBytes(poolNonces * nonceBytes);
  }
  const nonce = pool.subarray(0, nonceBytes);
  pool = pool.subarray(nonceBytes);
  return nonce;
}
