import * as crypto from "node:crypto";
import { BoundedMap } from "../../base/bounded-map.js";
import { randomToken } from "../../base/ids.js";
import { wrongKey } from "../../store/refusals.js";
import { keyParts, type StoredKey } from "../../store/writer-keys.js";
import { keyBytes } from "./encryption-options.js";
import { keyLifeMs, type KeyRing, type MasterKey } from "./key-ring.js";
import { SessionKey } from "./session-key.js";

const algorithm = "aes-256-gcm";
const tagBytes = 16;
/** Each key wraps one other only: see {@link wrappingKey}. */
const nonce = Buffer.alloc(12);
/** Characters of a key's name, 48 random bits: a session seldom gets another key. */
const nameLength = 8;
/** Unwrapping a key takes 17 µs. */
const mostKeys = 10_000;

/** The data key of a session, as this process knows it. */
export interface KnownKey {
  readonly key: SessionKey;
  readonly stored: StoredKey;
  /** True once the session has it; until then, it is a proposal of this process. */
  isStored: boolean;
  readonly until: number;
}

/** The data keys of the sessions in one store. */
export class DataKeys {
  readonly #ring: KeyRing;
  readonly #known = new BoundedMap<string, KnownKey>(mostKeys);

  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  /** The key of a session if it is at hand. */
  known(sessionId: string): KnownKey | undefined {
    const known = this.#known.get(sessionId);
    return known !== undefined && performance.now() < known.until ? known : undefined;
  }

  /**
   * The key of a session if it is at hand; else one that the session takes if it has none, undefined where plain text
   * is written.
   *
   * @throws EncryptionError, as {@link KeyRing.master}.
   */
  async forWrite(sessionId: string): Promise<KnownKey | undefined> {
    const known = this.known(sessionId);
    if (known?.isStored === true) {
      return known;
    }
    const master = await this.#ring.current(sessionId);
    const found = this.known(sessionId);
    if (found !== undefined && (found.isStored || keyParts(found.stored).masterId === master?.id)) {
      return found;
    }
    return master && this.#made(sessionId, master);
  }

  /**
   * The key that a session has.
   *
   * @throws EncryptionError `wrong_key`, and as {@link KeyRing.master}.
   */
  async adopt(sessionId: string, stored: StoredKey): Promise<KnownKey> {
    const known = this.known(sessionId);
    if (known?.key.id === keyParts(stored).name) {
      known.isStored = true;
      return known;
    }
    const bytes = await this.#unwrapped(sessionId, stored);
    return this.#noted(sessionId, bytes, { stored, isStored: true });
  }

  /** Forgets the key of a session that was cleared. */
  forget(sessionId: string): void {
    this.#known.delete(sessionId);
  }

  /** A stored key, wrapped by another master key, with or without the mark of plain text. */
  async rewrapped(
    sessionId: string,
    stored: StoredKey,
    { master, hasPlain }: { readonly master: MasterKey; readonly hasPlain: boolean },
  ): Promise<StoredKey> {
    const { name } = keyParts(stored);
    const dek = wrap(await this.#unwrapped(sessionId, stored), { master, sessionId, name });
    return { key: `${name} ${master.id}${hasPlain ? " plain" : ""}`, dek };
  }

  #made(sessionId: string, master: MasterKey): KnownKey {
    const [bytes, name] = [crypto.randomBytes(keyBytes), randomToken().slice(0, nameLength)];
    const stored = { key: `${name} ${master.id}`, dek: wrap(bytes, { master, sessionId, name }) };
    return this.#noted(sessionId, bytes, { stored, isStored: false });
  }

  #noted(sessionId: string, bytes: Buffer, rest: Pick<KnownKey, "stored" | "isStored">): KnownKey {
    const key = new SessionKey(crypto.createSecretKey(bytes), keyParts(rest.stored).name, sessionId);
    bytes.fill(0);
    const known = { key, ...rest, until: performance.now() + keyLifeMs };
    this.#known.set(sessionId, known);
    return known;
  }

  async #unwrapped(sessionId: string, stored: StoredKey): Promise<Buffer> {
    const { name, masterId } = keyParts(stored);
    const master = await this.#ring.master(masterId, sessionId);
    const bytes = unwrap(stored.dek, { master, sessionId, name });
    if (bytes === undefined) {
      throw wrongKey(sessionId, masterId);
    }
    return bytes;
  }
}

interface Wrapping {
  readonly master: MasterKey;
  readonly sessionId: string;
  readonly name: string;
}

/** A key of one use, so that its nonce may be constant: names of data keys are random. */
function wrappingKey({ master, sessionId, name }: Wrapping): Buffer {
  return crypto.createHmac("sha256", master.key).update(`wrap 1\0session ${sessionId}\0${name}`).digest();
}

/** 48 bytes as 64 characters: a longer field would take Redis out of the compact form of a hash. */
function wrap(bytes: Buffer, wrapping: Wrapping): string {
  const cipher = crypto.createCipheriv(algorithm, wrappingKey(wrapping), nonce, { authTagLength: tagBytes });
  const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
  return Buffer.concat([body, cipher.getAuthTag()]).toString("base64url");
}

function unwrap(text: string, wrapping: Wrapping): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length !== keyBytes + tagBytes) {
    return undefined;
  }
  const decipher = crypto.createDecipheriv(algorithm, wrappingKey(wrapping), nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(bytes.subarray(keyBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, keyBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}
