import * as z from "zod/mini";
import { anyFunction, lazy, objectOf, parseOptions } from "../../../base/options.js";

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
export function isKey(key: unknown): key is Uint8Array {
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
export function isKeySource(encryption: EncryptionOptions): encryption is EncryptionKeySource {
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
