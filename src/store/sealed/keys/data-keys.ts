import * as crypto from "node:crypto";
import { BoundedMap } from "../../../base/bounds.js";
import { randomToken } from "../../../base/ids.js";
import { wrongKey } from "../../contract/refusals.js";
import { type SessionRef, keyParts, type StoredKey } from "../../contract/session-ref.js";
import { keyBytes, keyLifeMs, type KeyRing, type MasterKey } from "./key-ring.js";
import { decrypted, encrypted, SessionKey } from "./session-key.js";

/** Each key wraps one other only: see {@link DataKeys}. */
const nonce = Buffer.alloc(12);
const nowhere = Buffer.alloc(0);
/** Characters of a key's name, 48 random bits: a session seldom gets another key. */
const nameLength = 8;
/** Each key counts twice. Unwrapping one takes 10 µs. */
const mostKeys = 20_000;

/** Characters of an owner's mark: longer fields would take Redis out of the compact form of a hash. */
const markLength = 16;

/** A data key as this process has it. */
export interface OpenKey {
  readonly key: SessionKey;
  readonly stored: StoredKey;
  readonly until: number;
}

/** Data keys of one kind in a store, as far as this process knows them: by id, and by id and name. */
export class DataKeys<Key extends OpenKey = OpenKey> extends BoundedMap<string, Key> {
  readonly ring: KeyRing;
  readonly #kind: "session" | "thread" | "item" | "run";

  constructor(ring: KeyRing, kind: "session" | "thread" | "item" | "run") {
    super(mostKeys);
    this.ring = ring;
    this.#kind = kind;
  }

  /** The key of a name, or the one of the next write, if it may be used still. */
  atHand(id: string, name?: string): Key | undefined {
    const entry = this.get(name === undefined ? id : `${name}\0${id}`);
    return entry !== undefined && performance.now() < entry.until ? entry : undefined;
  }

  /** Notes a key, which is that of the next write. */
  note(id: string, entry: Key): Key {
    this.set(id, entry).set(`${entry.key.id}\0${id}`, entry);
    return entry;
  }

  /** A stored key, unwrapped. @throws EncryptionError `wrong_key`, and as {@link KeyRing.master}. */
  async open(id: string, stored: StoredKey): Promise<OpenKey> {
    return opened(id, await this.#unwrapped(id, stored), stored);
  }

  /** A new random key, bound to the owner of a mark; `""`: to none. */
  make(id: string, master: MasterKey, mark = ""): OpenKey {
    const [bytes, name] = [crypto.randomBytes(keyBytes), randomToken().slice(0, nameLength)];
    const key = `${name} ${master.id}${mark === "" ? "" : ` ${mark}`}`;
    return opened(id, bytes, { key, dek: wrap(bytes, this.#wrappingKey(id, { key, dek: "" }, master)) });
  }

  /** A stored key, wrapped by a master key; the same where it is already. */
  async rewrapped(id: string, stored: StoredKey, master: MasterKey): Promise<StoredKey> {
    const { name, masterId, mark, hasPlain } = keyParts(stored);
    if (masterId === master.id) {
      return stored;
    }
    const dek = wrap(await this.#unwrapped(id, stored), this.#wrappingKey(id, stored, master));
    return { key: [name, master.id, ...(mark === "" ? [] : [mark]), ...(hasPlain ? ["plain"] : [])].join(" "), dek };
  }

  async #unwrapped(id: string, stored: StoredKey): Promise<Buffer> {
    const { masterId } = keyParts(stored);
    const master = await this.ring.master(masterId, id);
    const sealed = Buffer.from(stored.dek, "base64url");
    const bytes = decrypted(this.#wrappingKey(id, stored, master), nonce, sealed, nowhere);
    if (bytes?.length !== keyBytes) {
      throw wrongKey(id, masterId);
    }
    return bytes;
  }

  /** A key of one use, so that its nonce may be constant: names of data keys are random. */
  #wrappingKey(id: string, stored: StoredKey, master: MasterKey): Buffer {
    const { name, mark } = keyParts(stored);
    const bound = mark === "" ? "wrap 1" : `wrap 2\0${mark}`;
    return crypto.createHmac("sha256", master.key).update(`${bound}\0${this.#kind} ${id}\0${name}`).digest();
  }
}

/** The data key of a session. */
export interface KnownKey extends OpenKey {
  /** True once the session has it; until then, it is a proposal of this process. */
  isStored: boolean;
  /** The last owner whose mark it was found to have. */
  owner?: string | undefined;
}

/** The data keys of sessions, each of which has one. */
export class SessionKeys extends DataKeys<KnownKey> {
  constructor(ring: KeyRing) {
    super(ring, "session");
  }

  /** The key of a session if it is at hand, and opens for the caller. */
  keyOf({ id, owner }: SessionRef): KnownKey | undefined {
    const entry = this.atHand(id);
    return entry !== undefined && opensFor(entry, owner) ? entry : undefined;
  }

  /**
   * The key of a session if it is at hand; else one that the session takes if it has none, undefined where plain text
   * is written.
   *
   * @throws EncryptionError, as {@link KeyRing.master}.
   */
  async forWrite(session: SessionRef): Promise<KnownKey | undefined> {
    const entry = this.keyOf(session);
    if (entry?.isStored === true) {
      return entry;
    }
    const { id, owner } = session;
    const master = await this.ring.current(id);
    const current = this.keyOf(session);
    if (current !== undefined && (current.isStored || keyParts(current.stored).masterId === master?.id)) {
      return current;
    }
    const mark = owner === undefined ? "" : markOf(owner);
    return master && this.note(id, { ...this.make(id, master, mark), isStored: false });
  }

  /**
   * The key that a session has.
   *
   * @throws EncryptionError `wrong_key`, also where it is bound to another owner than the caller's, and as
   *   {@link KeyRing.master}.
   */
  async adopt(session: SessionRef, stored: StoredKey): Promise<KnownKey> {
    const { id, owner } = session;
    const entry = this.keyOf(session);
    if (entry?.key.id === keyParts(stored).name) {
      entry.isStored = true;
      return entry;
    }
    const fresh = { ...(await this.open(id, stored)), isStored: true };
    if (!opensFor(fresh, owner)) {
      throw wrongKey(id, keyParts(stored).masterId);
    }
    return this.note(id, fresh);
  }
}

/**
 * True if a key is bound to the caller's owner, or to none. Somebody who can write to Redis may have changed the owner
 * that the gate compares. A proposal must be bound to the very owner that its session will have.
 */
function opensFor(entry: KnownKey, owner: string | undefined): boolean {
  if (entry.isStored && entry.owner === owner) {
    return true;
  }
  const { mark } = keyParts(entry.stored);
  if (owner === undefined || (mark === "" && entry.isStored)) {
    return entry.isStored || mark === "";
  }
  if (entry.owner !== owner && mark === markOf(owner)) {
    entry.owner = owner;
  }
  return entry.owner === owner;
}

function markOf(owner: string): string {
  return crypto.createHash("sha256").update(owner).digest("base64url").slice(0, markLength);
}

function opened(id: string, bytes: Buffer, stored: StoredKey): OpenKey {
  const key = new SessionKey(bytes, keyParts(stored).name, id);
  bytes.fill(0);
  return { key, stored, until: performance.now() + keyLifeMs };
}

/** 48 bytes as 64 characters: a longer field would take Redis out of the compact form of a hash. */
function wrap(bytes: Buffer, wrappingKey: Buffer): string {
  return Buffer.concat(encrypted(wrappingKey, nonce, bytes, nowhere)).toString("base64url");
}
