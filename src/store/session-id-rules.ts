import { ConfigurationError } from "../base/errors.js";

/** Longest session id, in bytes of UTF-8. */
const maxSessionIdBytes = 512;

/**
 * Encodes a session id for keys: everything but `A-Z a-z 0-9 . _ ~ -` is percent-encoded, so that different ids never
 * share a key and no id can break out of the hash tag.
 *
 * @throws ConfigurationError `sessionId` as {@link checkSessionId}.
 */
export function encodeSessionId(sessionId: string): string {
  checkSessionId(sessionId);
  if (/^[\w.~-]+$/.test(sessionId)) {
    return sessionId;
  }
  return encodeURIComponent(sessionId).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Rejects a session id that is not a string, is empty, takes more than 512 bytes, or holds half of a surrogate pair
 * (which has no encoding in UTF-8).
 *
 * @throws ConfigurationError `sessionId`.
 */
export function checkSessionId(sessionId: unknown): asserts sessionId is string {
  if (typeof sessionId !== "string") {
    throw new ConfigurationError(
      "sessionId",
      `The session id must be a string; got ${sessionId === null ? "null" : typeof sessionId}.`,
    );
  }
  if (sessionId === "") {
    throw new ConfigurationError("sessionId", "The session id must not be empty.");
  }
  // A character takes at least one byte, so that huge strings can be refused without encoding them.
  if (sessionId.length > maxSessionIdBytes || Buffer.byteLength(sessionId) > maxSessionIdBytes) {
    throw new ConfigurationError(
      "sessionId",
      `The session id must not be longer than ${maxSessionIdBytes} bytes in UTF-8.`,
    );
  }
  if (!sessionId.isWellFormed()) {
    throw new ConfigurationError(
      "sessionId",
      "The session id must be well-formed Unicode; it holds half of a surrogate pair.",
    );
  }
}
