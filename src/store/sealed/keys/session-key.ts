import * as crypto from "node:crypto";
import { shortHash } from "../../../base/ids.js";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const poolNonces = 256;

/**
 * The place of a sealed text, where alone it opens: its kind and format version; the kind of a text that is no record;
 * and the plain line of a record, the name of a field or item, the checkpoint of a thread, or the place in a run.
 */
export type SealPlace = readonly [format: "record 3" | "text 1", kind: string, name: string];

/** A data key of one session, thread, run or store of items: seals and opens its texts, and makes its digests. */
export class SessionKey {
  /** Names the key in what it seals. */
  readonly id: string;
  readonly #sealing: crypto.KeyObject;
  readonly #digesting: string;
  readonly #place: string;

  /** Takes a key of 32 random bytes. */
  constructor(key: Uint8Array, id: string, sessionId: string) {
    const bytes = crypto.createHmac("sha512", key).update("langchain-redis-memory 2").digest();
    this.id = id;
    this.#sealing = crypto.createSecretKey(bytes.subarray(0, 32));
    this.#digesting = bytes.toString("base64url", 32);
    this.#place = measured(id) + measured(sessionId);
    bytes.fill(0);
  }

  /** Encrypts a text for a place: nonce, encrypted text and tag. */
  seal(text: string, place: SealPlace): Buffer {
    return this.#sealed(text, place, nextNonce());
  }

  /** The same for equal texts of a place: the nonce is made from both by the digesting key. */
  sealSame(text: string, place: SealPlace): Buffer {
    const mac = crypto.createHmac("sha256", this.#digesting).update(this.#associated(place)).update(text);
    return this.#sealed(text, place, mac.digest().subarray(0, nonceBytes));
  }

  /** Decrypts what `seal` made for the same place; undefined for anything else. */
  open(bytes: Buffer, place: SealPlace): string | undefined {
    if (bytes.length < nonceBytes + tagBytes) {
      return undefined;
    }
    // Without a length of the tag, four bytes of it would be enough.
    const nonce = bytes.subarray(0, nonceBytes);
    const cipher = crypto.createDecipheriv(algorithm, this.#sealing, nonce, { authTagLength: tagBytes });
    cipher.setAAD(this.#associated(place));
    cipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      // As bytes: a cipher that returns text makes a decoder for it, which takes as long as the decryption.
      const body = cipher.update(bytes.subarray(nonceBytes, -tagBytes));
      cipher.final();
      return body.toString("utf8");
    } catch {
      return undefined;
    }
  }

  /** The keyed form of a digest: 8 characters of base64url. */
  digest(digest: string): string {
    // All digests are equally long, and most of the hash stays secret: key and text in one block need no HMAC.
    return shortHash(this.#digesting + digest, 8);
  }

  #sealed(text: string, place: SealPlace, nonce: Buffer): Buffer {
    const cipher = crypto.createCipheriv(algorithm, this.#sealing, nonce, { authTagLength: tagBytes });
    cipher.setAAD(this.#associated(place));
    const body = cipher.update(text, "utf8");
    cipher.final();
    return Buffer.concat([nonce, body, cipher.getAuthTag()]);
  }

  #associated([format, kind, name]: SealPlace): Buffer {
    // Every string has its own bytes in UTF-16; in UTF-8 all halves of surrogate pairs share theirs.
    return Buffer.from(measured(format) + this.#place + measured(kind) + measured(name), "utf16le");
  }
}

/** With its length, so that no two lists of texts read the same. */
function measured(text: string): string {
  return `${text.length}:${text}`;
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
