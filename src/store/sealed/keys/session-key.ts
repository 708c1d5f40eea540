import * as crypto from "node:crypto";
import { shortHash } from "../../../base/ids.js";
import type { StoredText } from "../../contract/stored-texts.js";

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
function measured(text: string): string {
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

/** Version of the format of sealed records. */
export const sealedVersion = 2;

/** A sealed record: a line of JSON that is not encrypted, and the sealed text behind it. */
export interface SealedRecord {
  /** The beginning of the line, up to the type. */
  readonly type: string;
  /** The id, as JSON. */
  readonly id: string;
  /** The name of the data key that it is sealed with. */
  readonly keyName: string;
  /** The text behind the version in `meta`. */
  readonly meta: string;
  /** The line as it is stored. */
  readonly line: string;
  readonly text: string;
}

const sealedLine =
  /^(\{"type":"[\w-]*"),"data":\{"id":("(?:[^"\\]|\\.)*")\},"sealed":"([\w.:/@-]{1,64})","meta":\{"v":2([,}].*)\}$/s;

/** The parts of a sealed record; undefined for any other text. */
export function parseSealed(record: string | StoredText): SealedRecord | undefined {
  const stored = record as string;
  const end = stored.indexOf("\n");
  const line = end < 0 ? stored : stored.slice(0, end);
  const [, type, id, keyName, meta] = sealedLine.exec(line) ?? [];
  return type === undefined
    ? undefined
    : { type, id: id!, keyName: keyName!, meta: meta!, line, text: end < 0 ? "" : stored.slice(end + 1) };
}

const sealedText = /^~([\w-]{1,64}) ([\w-]{38,})$/;

/** The parts of a sealed text: the name of its key, and what is sealed, as base64url. */
interface SealedTextParts {
  readonly keyName: string;
  readonly sealed: string;
}

/** A text sealed for its place, in a kind of texts: the same for the same text, so that it can be compared. */
export function sealText(key: SessionKey, text: string, type: string, name: string): string {
  return `~${key.id} ${key.sealSame(text, placeOf(type, name)).toString("base64url")}`;
}

/**
 * The parts of a sealed text; undefined for a plain one: JSON never begins like it, and no text that an application
 * keeps beside a conversation is taken for it.
 */
export function sealedTextParts(stored: string): SealedTextParts | undefined {
  const [, keyName, sealed] = stored.startsWith("~") ? (sealedText.exec(stored) ?? []) : [];
  return keyName === undefined ? undefined : { keyName, sealed: sealed! };
}

/** The text that was sealed for the place; undefined if the key does not open it. */
export function openText(key: SessionKey, { sealed }: SealedTextParts, type: string, name: string): string | undefined {
  return key.open(Buffer.from(sealed, "base64url"), placeOf(type, name));
}

/** A kind of texts, and the name of a field or item, the checkpoint of a thread, or the place in a run. */
function placeOf(type: string, name: string): Buffer {
  // Every string has its own bytes in UTF-16; in UTF-8 all halves of surrogate pairs share theirs.
  return Buffer.from(`text 1 ${measured(type)}${name}`, "utf16le");
}
