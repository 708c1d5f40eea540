import * as crypto from "node:crypto";
import { BoundedMap } from "../../base/bounded-map.js";
import { ConfigurationError, EncryptionError, MemoryError, RecordError } from "../../base/errors.js";
import {
  isKey,
  isKeyId,
  isKeySource,
  keyBytes,
  type EncryptionKeySource,
  type EncryptionOptions,
} from "./encryption-options.js";
import { unknownKey } from "../../store/refusals.js";
import { SessionKey } from "./session-key.js";

/** Deriving a key takes 18 µs. */
const maxSessionKeys = 10_000;

/** Rings by their source, so that all users of a source in one process ask it once. */
const rings = new WeakMap<object, KeyRing>();

/** The keys of an application, and those that are derived from them for sessions. */
export class KeyRing {
  readonly #source: EncryptionKeySource;
  readonly #masters = new Map<string, crypto.KeyObject>();
  readonly #loading = new Map<string, Promise<void>>();
  readonly #derived = new BoundedMap<string, SessionKey>(maxSessionKeys);

  /** The ring for checked options. */
  static of(encryption: EncryptionOptions): KeyRing {
    const known = rings.get(encryption);
    const ring = known ?? new KeyRing(encryption);
    if (isKeySource(encryption)) {
      rings.set(encryption, ring);
    }
    return ring;
  }

  private constructor(encryption: EncryptionOptions) {
    if (isKeySource(encryption)) {
      this.#source = encryption;
      return;
    }
    const { current, previous = [] } = encryption;
    for (const { id, key } of [...(current === null ? [] : [current]), ...previous]) {
      this.#masters.set(id, crypto.createSecretKey(key));
    }
    const id = current?.id ?? null;
    this.#source = { currentKeyId: () => id, key: () => undefined as never };
  }

  /** The key that seals what is written to a session; undefined where plain text is written. */
  async current(sessionId: string): Promise<SessionKey | undefined> {
    const id = await this.#source.currentKeyId();
    if (id === null) {
      return undefined;
    }
    if (!isKeyId(id)) {
      const expected = "1 to 64 of the characters A-Z a-z 0-9 _ . : / @ -, or null";
      throw new ConfigurationError("encryption", `encryption: currentKeyId() must return ${expected}.`);
    }
    return this.derived(id, sessionId) ?? this.load(id, sessionId);
  }

  /** The keys of a session for all keys that are at hand. */
  known(sessionId: string): SessionKey[] {
    return [...this.#masters.keys()].map((id) => this.derived(id, sessionId)!);
  }

  /** The key of a session; undefined if the key that it is derived from is not at hand. */
  derived(id: string, sessionId: string): SessionKey | undefined {
    const name = `${id} ${sessionId}`;
    const found = this.#derived.get(name);
    if (found !== undefined) {
      return found;
    }
    const master = this.#masters.get(id);
    if (master === undefined) {
      return undefined;
    }
    const key = new SessionKey(master, id, sessionId);
    this.#derived.set(name, key);
    return key;
  }

  /**
   * The key of a session, which is asked for where it is not at hand.
   *
   * @throws EncryptionError `unknown_key`, `retryable` where the source failed; RecordError `corrupt` for an id that is
   *   none; ConfigurationError for a key that is none.
   */
  async load(id: string, sessionId: string): Promise<SessionKey> {
    if (!isKeyId(id)) {
      throw new RecordError("encryption: the data names a key by a text that is no id of a key.", { code: "corrupt" });
    }
    if (!this.#masters.has(id)) {
      const loading = this.#loading.get(id) ?? this.#ask(id, sessionId).finally(() => this.#loading.delete(id));
      this.#loading.set(id, loading);
      await loading;
    }
    return this.derived(id, sessionId)!;
  }

  async #ask(id: string, sessionId: string): Promise<void> {
    let key: unknown;
    try {
      key = await this.#source.key(id);
    } catch (cause) {
      const message = `encryption: key("${id}") failed; nothing was read or written. Try again.`;
      throw MemoryError.isInstance(cause) ? cause : new EncryptionError(message, { ...failure(id, sessionId), cause });
    }
    if (key === undefined || key === null) {
      throw unknownKey(sessionId, id);
    }
    if (!isKey(key)) {
      const message = `encryption: key("${id}") must return a Uint8Array of ${keyBytes} bytes.`;
      throw new ConfigurationError("encryption", message);
    }
    this.#masters.set(id, crypto.createSecretKey(key));
  }
}

function failure(keyId: string, sessionId: string) {
  return { code: "unknown_key", keyId, sessionId, retryable: true } as const;
}
