import * as crypto from "node:crypto";
import { ConfigurationError, EncryptionError, MemoryError, RecordError } from "../../../base/errors.js";
import {
  isKey,
  isKeyId,
  isKeySource,
  keyBytes,
  type EncryptionKeySource,
  type EncryptionOptions,
} from "./encryption-options.js";
import { unknownKey } from "../../contract/refusals.js";

/** For how long a key stays at hand, in milliseconds: a source is asked again then, and may have withdrawn it. */
export const keyLifeMs = 3_600_000;

/** A key of the application. */
export interface MasterKey {
  readonly id: string;
  readonly key: crypto.KeyObject;
}

/** Rings by their source, so that all users of a source in one process ask it once. */
const rings = new WeakMap<object, KeyRing>();

/** The master keys of an application, which wrap data keys and nothing else. */
export class KeyRing {
  /** True where plain text is refused. */
  readonly refusesPlain: boolean;
  readonly #source: EncryptionKeySource;
  readonly #masters = new Map<string, { readonly master: MasterKey; readonly until: number }>();
  readonly #loading = new Map<string, Promise<MasterKey>>();

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
    this.refusesPlain = encryption.plain === "refuse";
    if (isKeySource(encryption)) {
      this.#source = encryption;
      return;
    }
    const { current, previous = [] } = encryption;
    for (const { id, key } of [...(current === null ? [] : [current]), ...previous]) {
      this.#note(id, key, Infinity);
    }
    const id = current?.id ?? null;
    this.#source = { currentKeyId: () => id, key: () => undefined as never };
  }

  /**
   * The key that wraps new data keys; undefined where plain text is written.
   *
   * @throws ConfigurationError for an id that is none, and as {@link master}.
   */
  async current(sessionId: string): Promise<MasterKey | undefined> {
    const id = await this.#source.currentKeyId();
    if (id !== null && !isKeyId(id)) {
      const expected = "1 to 64 of the characters A-Z a-z 0-9 _ . : / @ -, or null";
      throw new ConfigurationError("encryption", `encryption: currentKeyId() must return ${expected}.`);
    }
    return id === null ? undefined : this.master(id, sessionId);
  }

  /**
   * A master key, which is asked for where it is not at hand.
   *
   * @throws EncryptionError `unknown_key`, `retryable` where the source failed; RecordError `corrupt` for an id that is
   *   none; ConfigurationError for a key that is none.
   */
  async master(id: string, sessionId: string): Promise<MasterKey> {
    if (!isKeyId(id)) {
      throw new RecordError("encryption: the data names a key by a text that is no id of a key.", { code: "corrupt" });
    }
    const entry = this.#masters.get(id);
    if (entry !== undefined && performance.now() < entry.until) {
      return entry.master;
    }
    const loading = this.#loading.get(id) ?? this.#ask(id, sessionId).finally(() => this.#loading.delete(id));
    this.#loading.set(id, loading);
    return loading;
  }

  async #ask(id: string, sessionId: string): Promise<MasterKey> {
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
    return this.#note(id, key, performance.now() + keyLifeMs);
  }

  #note(id: string, key: Uint8Array, until: number): MasterKey {
    const master = { id, key: crypto.createSecretKey(key) };
    this.#masters.set(id, { master, until });
    return master;
  }
}

function failure(keyId: string, sessionId: string) {
  return { code: "unknown_key", keyId, sessionId, retryable: true } as const;
}
