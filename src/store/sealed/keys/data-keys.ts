import * as crypto from "node:crypto";
import { BoundedMap } from "../../../base/bounded-map.js";
import { randomToken } from "../../../base/ids.js";
import { wrongKey } from "../../contract/refusals.js";
import type { SessionRef } from "../../contract/session-ref.js";
import { keyParts, type StoredKey } from "../../contract/writer-keys.js";
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

/** Characters of an owner's mark: longer fields would take Redis out of the compact form of a hash. */
const markLength = 16;

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
  /** The last owner whose mark it was found to have. */
  owner?: string | undefined;
}

/** The data keys of the sessions in one store. */
export class DataKeys {
  readonly #ring: KeyRing;
  readonly #known = new BoundedMap<string, KnownKey>(mostKeys);

  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  /** True where plain text is refused. */
  get refusesPlain(): boolean {
    return this.#ring.refusesPlain;
  }

  /** The key of a session if it is at hand, and opens for the caller. */
  known({ id, owner }: SessionRef): KnownKey | undefined {
    const known = this.#known.get(id);
    return known !== undefined && performance.now() < known.until && opensFor(known, owner) ? known : undefined;
  }

  /**
   * The key of a session if it is at hand; else one that the session takes if it has none, undefined where plain text
   * is written.
   *
   * @throws EncryptionError, as {@link KeyRing.master}.
   */
  async forWrite(session: SessionRef): Promise<KnownKey | undefined> {
    const known = this.known(session);
    if (known?.isStored === true) {
      return known;
    }
    const master = await this.#ring.current(session.id);
    const found = this.known(session);
    if (found !== undefined && (found.isStored || keyParts(found.stored).masterId === master?.id)) {
      return found;
    }
    const { id, owner } = session;
    const mark = owner === undefined ? "" : markOf(owner);
    return master && this.#noted(id, { ...newKey({ kind: "session", id }, master, mark), isStored: false });
  }

  /**
   * The key that a session has.
   *
   * @throws EncryptionError `wrong_key`, also where it is bound to another owner than the caller's, and as
   *   {@link KeyRing.master}.
   */
  async adopt(session: SessionRef, stored: StoredKey): Promise<KnownKey> {
    const { id, owner } = session;
    const known = this.known(session);
    if (known?.key.id === keyParts(stored).name) {
      known.isStored = true;
      return known;
    }
    const opened = { ...(await openKey(this.#ring, { kind: "session", id }, stored)), isStored: true };
    if (!opensFor(opened, owner)) {
      throw wrongKey(id, keyParts(stored).masterId);
    }
    return this.#noted(id, opened);
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

/**
 * True if a key is bound to the caller's owner, or to none. Somebody who can write to Redis may have changed the owner
 * that the gate compares. A proposal must be bound to the very owner that its session will have.
 */
function opensFor(known: KnownKey, owner: string | undefined): boolean {
  const { mark } = keyParts(known.stored);
  if (owner === undefined || (mark === "" && known.isStored)) {
    return known.isStored || mark === "";
  }
  if (known.owner !== owner && mark === markOf(owner)) {
    known.owner = owner;
  }
  return known.owner === owner;
}

function markOf(owner: string): string {
  return crypto.createHash("sha256").update(owner).digest("base64url").slice(0, markLength);
}

/** A new random key, bound to the owner of a mark; `""`: to none. */
export function newKey(place: KeyPlace, master: MasterKey, mark = ""): OpenKey {
  const [bytes, name] = [crypto.randomBytes(keyBytes), randomToken().slice(0, nameLength)];
  const key = `${name} ${master.id}${mark === "" ? "" : ` ${mark}`}`;
  const stored = { key, dek: wrap(bytes, { master, place, name, mark }) };
  return opened(place, bytes, stored);
}

/** A stored key, unwrapped. @throws EncryptionError `wrong_key`, and as {@link KeyRing.master}. */
export async function openKey(ring: KeyRing, place: KeyPlace, stored: StoredKey): Promise<OpenKey> {
  return opened(place, await unwrapped(ring, place, stored), stored);
}

/** A stored key, wrapped by another master key. */
export async function rewrapKey(
  ring: KeyRing,
  place: KeyPlace,
  stored: StoredKey,
  master: MasterKey,
): Promise<StoredKey> {
  const { name, mark, hasPlain } = keyParts(stored);
  const dek = wrap(await unwrapped(ring, place, stored), { master, place, name, mark });
  return { key: [name, master.id, ...(mark === "" ? [] : [mark]), ...(hasPlain ? ["plain"] : [])].join(" "), dek };
}

function opened({ id }: KeyPlace, bytes: Buffer, stored: StoredKey): OpenKey {
  const key = new SessionKey(bytes, keyParts(stored).name, id);
  bytes.fill(0);
  return { key, stored, until: performance.now() + keyLifeMs };
}

async function unwrapped(ring: KeyRing, place: KeyPlace, stored: StoredKey): Promise<Buffer> {
  const { name, masterId, mark } = keyParts(stored);
  const master = await ring.master(masterId, place.id);
  const bytes = unwrap(stored.dek, { master, place, name, mark });
  if (bytes === undefined) {
    throw wrongKey(place.id, masterId);
  }
  return bytes;
}

interface Wrapping {
  readonly master: MasterKey;
  readonly place: KeyPlace;
  readonly name: string;
  readonly mark: string;
}

/** A key of one use, so that its nonce may be constant: names of data keys are random. */
function wrappingKey({ master, place, name, mark }: Wrapping): Buffer {
  const bound = mark === "" ? "wrap 1" : `wrap 2\0${mark}`;
  return crypto.createHmac("sha256", master.key).update(`${bound}\0${place.kind} ${place.id}\0${name}`).digest();
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
