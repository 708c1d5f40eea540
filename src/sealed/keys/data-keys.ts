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

/** The piece of data that a data key belongs to. */
export interface KeyPlace {
  readonly kind: "session" | "thread" | "item" | "run";
  readonly id: string;
}

/** A data key as this process has it. */
export interface OpenKey {
  readonly key: SessionKey;
  readonly stored: StoredKey;
  readonly until: number;
}

/** The data key of a session. */
export interface KnownKey extends OpenKey {
  /** True once the session has it; until then, it is a proposal of this process. */
  isStored: boolean;
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
    return master && this.#noted(sessionId, { ...newKey({ kind: "session", id: sessionId }, master), isStored: false });
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
    const opened = await openKey(this.#ring, { kind: "session", id: sessionId }, stored);
    return this.#noted(sessionId, { ...opened, isStored: true });
  }

  /** Forgets the key of a session that was cleared. */
  forget(sessionId: string): void {
    this.#known.delete(sessionId);
  }

  #noted(sessionId: string, known: KnownKey): KnownKey {
    this.#known.set(sessionId, known);
    return known;
  }
}

/** A new random key. */
export function newKey(place: KeyPlace, master: MasterKey): OpenKey {
  const [bytes, name] = [crypto.randomBytes(keyBytes), randomToken().slice(0, nameLength)];
  const stored = { key: `${name} ${master.id}`, dek: wrap(bytes, { master, place, name }) };
  return opened(place, bytes, stored);
}

/** A stored key, unwrapped. @throws EncryptionError `wrong_key`, and as {@link KeyRing.master}. */
export async function openKey(ring: KeyRing, place: KeyPlace, stored: StoredKey): Promise<OpenKey> {
  return opened(place, await unwrapped(ring, place, stored), stored);
}

/** A stored key, wrapped by another master key, with or without the mark of plain text. */
export async function rewrapKey(
  ring: KeyRing,
  place: KeyPlace,
  stored: StoredKey,
  { master, hasPlain }: { readonly master: MasterKey; readonly hasPlain: boolean },
): Promise<StoredKey> {
  const { name } = keyParts(stored);
  const dek = wrap(await unwrapped(ring, place, stored), { master, place, name });
  return { key: `${name} ${master.id}${hasPlain ? " plain" : ""}`, dek };
}

function opened({ id }: KeyPlace, bytes: Buffer, stored: StoredKey): OpenKey {
  const key = new SessionKey(crypto.createSecretKey(bytes), keyParts(stored).name, id);
  bytes.fill(0);
  return { key, stored, until: performance.now() + keyLifeMs };
}

async function unwrapped(ring: KeyRing, place: KeyPlace, stored: StoredKey): Promise<Buffer> {
  const { name, masterId } = keyParts(stored);
  const master = await ring.master(masterId, place.id);
  const bytes = unwrap(stored.dek, { master, place, name });
  if (bytes === undefined) {
    throw wrongKey(place.id, masterId);
  }
  return bytes;
}

interface Wrapping {
  readonly master: MasterKey;
  readonly place: KeyPlace;
  readonly name: string;
}

/** A key of one use, so that its nonce may be constant: names of data keys are random. */
function wrappingKey({ master, place, name }: Wrapping): Buffer {
  return crypto.createHmac("sha256", master.key).update(`wrap 1\0${place.kind} ${place.id}\0${name}`).digest();
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
