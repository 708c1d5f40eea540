import { EncryptionError } from "../base/errors.js";

/** The error for what was sealed with a key that this process does not have. */
export function unknownKey(
  sessionId: string | undefined,
  keyId: string,
  keys: readonly string[] = [],
): EncryptionError {
  return new EncryptionError(
    `This session is encrypted with the key "${keyId}", which this process does not have; nothing was read or ` +
      'written. Add the key to the option "encryption".',
    { code: "unknown_key", sessionId, keyId, keys },
  );
}

/** The error for what cannot be opened with the key that it names. */
export function wrongKey(sessionId: string, keyId: string): EncryptionError {
  return new EncryptionError(
    `What this session holds under the key "${keyId}" cannot be opened: this process has another key under that id, ` +
      "or the data was changed or moved in Redis. Nothing was read or written.",
    { code: "wrong_key", sessionId, keyId },
  );
}
