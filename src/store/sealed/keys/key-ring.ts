import * as crypto from "node:crypto";
import * as z from "zod/mini";
import { ConfigurationError, EncryptionError, MemoryError, RecordError } from "../../../base/errors.js";
import { unknownKey } from "../../contract/refusals.js";
import { anyFunction, lazy, objectOf, parseOptions } from "../../../base/options.js";

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

/** A key and its id, which is stored in Redis beside the ciphertext. */
export interface EncryptionKey {
  /** 1 to 64 of the characters `A-Z a-z 0-9 _ . : / @ -`. The same id must always name the same key. */
  readonly id: string;
  /** 32 random bytes. */
  readonly key: Uint8Array;
}

/** The keys of an application. */
export interface EncryptionKeys {
  /**
   * Key that encrypts writes. `null`: this process writes plain text and decrypts with the keys of `previous`, as the
   * first step of switching encryption on.
   */
  readonly current: EncryptionKey | null;
  /** Keys that only decrypt older data. @default none */
  readonly previous?: readonly EncryptionKey[];
  /**
   * `"refuse"`: a read that meets plain text fails with an EncryptionError `plain_text`, and `reencrypt()` does not
   * encrypt it. For use once everything is encrypted: nobody can put texts into Redis without a key then. @default read
   */
  readonly plain?: "refuse";
}

/** A source of keys, such as a key management service. */
export interface EncryptionKeySource extends Pick<EncryptionKeys, "plain"> {
  /** Returns the id of the encrypting key; called at each write. `null` to write plain text. */
  currentKeyId(): string | null | Promise<string | null>;
  /** Returns the 32 bytes of a key. Called once per id and process; failures are not cached. */
  key(id: string): Uint8Array | Promise<Uint8Array>;
}

/** Encryption keys, or a source of keys. */
export type EncryptionOptions = EncryptionKeys | EncryptionKeySource;

/** Bytes of a key. */
export const keyBytes = 32;

/** True for a text that can be the id of a key. */
export function isKeyId(id: unknown): id is string {
  return typeof id === "string" && /^[\w.:/@-]{1,64}$/.test(id);
}

/** True for the bytes of a key. */
function isKey(key: unknown): key is Uint8Array {
  return key instanceof Uint8Array && key.length === keyBytes;
}

const keySchema = lazy(() =>
  objectOf(
    {
      id: z.custom<string>(isKeyId, "must be 1 to 64 of the characters A-Z a-z 0-9 _ . : / @ -"),
      key: z.custom<Uint8Array>(isKey, `must be a Uint8Array of ${keyBytes} bytes`),
    },
    "an object with id and key",
  ),
);

const plainField = lazy(() => z.optional(z.literal("refuse", 'must be "refuse"')));

const keysSchema = lazy(() =>
  z.strictObject({
    encryption: z
      .strictObject({
        current: z.nullable(keySchema()),
        previous: z.optional(z.array(keySchema(), "must be an array of keys")),
        plain: plainField(),
      })
      .check(
        z.superRefine(({ current, previous = [], plain }, context) => {
          const ids = [...(current === null ? [] : [current]), ...previous].map(({ id }) => id);
          if (new Set(ids).size < ids.length) {
            context.addIssue({ code: "custom", message: "must not name two keys by one id", path: ["previous"] });
          }
          if (current === null && plain !== undefined) {
            context.addIssue({ code: "custom", message: "needs a current key", path: ["plain"] });
          }
          if (ids.length === 0) {
            context.addIssue({ code: "custom", message: "must name a key here, or in previous", path: ["current"] });
          }
        }),
      ),
  }),
);

const sourceSchema = lazy(() =>
  z.object({
    encryption: z.looseObject(
      { currentKeyId: anyFunction(), key: anyFunction(), plain: plainField() },
      "must be an object with keys",
    ),
  }),
);

/** True for keys that come from a source. */
function isKeySource(encryption: EncryptionOptions): encryption is EncryptionKeySource {
  return "currentKeyId" in encryption;
}

/**
 * Refuses keys that cannot be used.
 *
 * @throws ConfigurationError naming the part of `encryption`; never with a part of a key.
 */
export function checkEncryption(owner: string, encryption: EncryptionOptions): void {
  const isObject = typeof encryption === "object" && encryption !== null;
  parseOptions(owner, isObject && isKeySource(encryption) ? sourceSchema() : keysSchema(), { encryption });
}
