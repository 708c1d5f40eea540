import { ConfigurationError } from "../errors.js";

/** Longest session id, in bytes of UTF-8. */
export const maxSessionIdBytes = 512;

/**
 * The session id as it stands in keys: all but `A-Z a-z 0-9 . _ ~ -` percent-encoded, so that different ids never share
 * a key and no id can break out of the hash tag.
 *
 * @throws ConfigurationError `sessionId` for what {@link checkSessionId} refuses.
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
 * Refuses what is no session id: not a string, empty, over 512 bytes, or with half of a surrogate pair (it has no bytes
 * of its own in UTF-8).
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
  // No character takes less than one byte: huge strings are refused without being encoded.
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
