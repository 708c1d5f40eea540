import * as z from "zod/mini";
import type { SessionLabel } from "./lists.js";
import type { WriterKeys } from "./writer-keys.js";
import { ConfigurationError } from "../../base/errors.js";
import { nonEmptyText } from "../../base/options.js";

/**
 * A session and the rights of its caller, which a store checks before everything else: the first argument of every
 * method that concerns one session. A call that is refused changes nothing.
 */
export interface SessionRef {
  /** The session's id, 1 to 512 bytes. */
  readonly id: string;
  /**
   * The calling owner. A session of another owner is refused with a ConflictError `other_owner`, for reads and writes
   * alike; a write claims a session that has no owner. @default sessions of any owner
   */
  readonly owner?: string;
  /** The label that a write gives a session that never had one; later it changes by `relabel` only. */
  readonly label?: SessionLabel;
  /** The hold within which the call writes. Reads pass without it. */
  readonly hold?: SessionHold;
  /**
   * The data key of a caller that encrypts. A call to a session that has another is refused with an EncryptionError,
   * also without `keys`. Reads return encrypted texts as they are stored.
   */
  readonly keys?: WriterKeys;
}

/** Preconditions of a write: it does not pass once the epoch has ended, or a later hold has begun. */
export interface SessionHold {
  /** A write is refused with `epoch` unless this is the session's epoch; `""` means that it must not exist. */
  readonly epoch: string;
  /**
   * Fencing token, higher than that of every earlier hold: a write is refused with `fenced` if a higher one was used
   * before; an append stores it otherwise. @default only the epoch is compared
   */
  readonly token?: number;
}

/** The most bytes of UTF-8 in what clients may name: ids of turns, messages and positions; texts to search for. */
export const mostBytes = { id: 512, search: 1_000 } as const;

/** A text of at least one character and at most so many bytes. */
export const limitedText = (limit: keyof typeof mostBytes) =>
  nonEmptyText().check(
    z.refine((text) => isWithin(text, mostBytes[limit]), `must have at most ${mostBytes[limit]} bytes of UTF-8`),
  );

/** True for a text of at most so many bytes of UTF-8; a huge one is not encoded. */
export function isWithin(text: string, bytes: number): boolean {
  return text.length <= bytes && Buffer.byteLength(text) <= bytes;
}

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

/** Inverse of {@link encodeSessionId}; undefined for what it never returns, as in a key that only looks like one. */
export function decodeSessionId(encoded: string): string | undefined {
  try {
    const id = decodeURIComponent(encoded);
    return encodeSessionId(id) === encoded ? id : undefined;
  } catch {
    return undefined;
  }
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
  if (!isWithin(sessionId, mostBytes.id)) {
    throw new ConfigurationError("sessionId", `The session id must not be longer than ${mostBytes.id} bytes in UTF-8.`);
  }
  if (!sessionId.isWellFormed()) {
    throw new ConfigurationError(
      "sessionId",
      "The session id must be well-formed Unicode; it holds half of a surrogate pair.",
    );
  }
}
