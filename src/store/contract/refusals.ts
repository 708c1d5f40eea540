import { ConflictError, StoreError, EncryptionError } from "../../base/errors.js";
import { encodeSessionId, type SessionRef, keyParts, storedKeyFrom, type StoredKey } from "./session-ref.js";

/** The session id for error messages: encoded, so that it cannot break a log line, and truncated to 80 characters. */
export function sessionLabel(sessionId: string): string {
  const encoded = encodeSessionId(sessionId);
  return encoded.length > 80 ? `session ${encoded.slice(0, 80)}…` : `session ${encoded}`;
}

/** A refused call. */
interface RefusedCall {
  /** The name of the call. */
  readonly operation: string;
  readonly sessionId: string;
}

/**
 * Maps a refusal of the gate, a word and a detail, to its error; undefined for any other word. The cases are in the
 * order of the gate's checks, the same in every store: of several reasons the first is reported. The call's own checks
 * follow: position, stale, content.
 */
export function refusalFrom(word: unknown, detail: unknown, { operation, sessionId }: RefusedCall): Error | undefined {
  switch (word) {
    case "ERASED":
      return erased(operation, sessionId);
    case "OWNER":
      return otherOwner(sessionId);
    case "DAMAGED":
      return damaged(operation, sessionId);
    case "KEY":
      return new KeyNeeded(sessionId, storedKeyFrom(String(detail)));
    case "EPOCH":
      return epochConflict(sessionId);
    case "FENCED":
      return fenced(sessionId);
    case "EXISTS":
      return alreadyExists(sessionId);
    default:
      return undefined;
  }
}

/** The error for a message id that is stored with other content. */
export function contentConflict(sessionId: string, messageId: string): ConflictError {
  return new ConflictError(
    `${capitalized(sessionLabel(sessionId))} already holds a message with other content under the same id; ` +
      'nothing was written. Give the new message its own id, change the stored one by "replaceFrom", or use ' +
      'onConflict "keep".',
    { code: "content", sessionId, messageId },
  );
}

/** The error for a log that does not end where the caller expects. */
export function positionConflict(sessionId: string, expected: number, next: number): ConflictError {
  return new ConflictError(
    `The next position of ${sessionLabel(sessionId)} is ${next}, but ${expected} was expected; nothing was written. ` +
      "Read the session again.",
    { code: "position", sessionId, next },
  );
}

/** Refuses a copy that would end in front of the first record that is left; one that holds none is allowed. */
export function refuseDiscarded(
  sessionId: string,
  at: number | undefined,
  { base, next }: { readonly base: number; readonly next: number },
): void {
  if (at !== undefined && at > 0 && at < base) {
    throw new ConflictError(
      `The first ${base} messages of ${sessionLabel(sessionId)} were discarded, so its first ${at} cannot be copied; ` +
        `nothing was written. Give "at" from ${base} to ${next}, or 0 for a copy without messages.`,
      { code: "position", sessionId, next },
    );
  }
}

/** The error for a session that was cleared, expired or recreated since the caller read it. */
function epochConflict(sessionId: string): ConflictError {
  return new ConflictError(
    `${capitalized(sessionLabel(sessionId))} was cleared, expired or recreated after you read it; nothing was ` +
      "written. Read it again.",
    { code: "epoch", sessionId },
  );
}

/** The error for a session that changed during each try of a method. */
export function keptChanging(
  method: "fork" | "rebuild" | "removeLast" | "replaceFrom" | "rewind",
  sessionId: string,
): ConflictError {
  const message = `${capitalized(sessionLabel(sessionId))} kept changing during ${method}(); call it again.`;
  return new ConflictError(message, { code: "stale", sessionId });
}

/** The error for a copy onto a session that exists. */
export function alreadyExists(sessionId: string): ConflictError {
  return new ConflictError(
    `${capitalized(sessionLabel(sessionId))} exists; nothing was copied. Fork to an id that is not in use.`,
    { code: "exists", sessionId },
  );
}

/** The error for a session that lost its state, and whose remaining keys hold only a mark of its owner. */
export function ownerLost(sessionId: string): StoreError {
  return new StoreError(
    `${capitalized(sessionLabel(sessionId))} belongs to an owner whose name is lost with its state; nothing was ` +
      "changed. Say whose it is: rebuild({ owner }).",
    { code: "damaged", operation: "rebuild", sessionId, retryable: false },
  );
}

/** The error for staged records that expired before the import finished. */
export function transferLost(sessionId: string): ConflictError {
  return new ConflictError(
    `The staged records of ${sessionLabel(sessionId)} expired, because more than ten minutes passed between two ` +
      "pages; nothing was created. Try again.",
    { code: "stale", sessionId },
  );
}

/** The error for a writer whose fencing token is lower than one used before. */
function fenced(sessionId: string): ConflictError {
  return new ConflictError(
    `A later turn of ${sessionLabel(sessionId)} has begun (its fencing token is higher); nothing was written. ` +
      "Read the session and run the turn again.",
    { code: "fenced", sessionId },
  );
}

/**
 * Refuses a write of a hold that is over: another has begun, or the session's life has ended.
 *
 * @throws ConflictError `epoch` or `fenced`.
 */
export function refuseFenced(
  { id, hold }: SessionRef,
  { epoch, fence }: { readonly epoch: string; readonly fence: number } = { epoch: "", fence: 0 },
): void {
  if (hold !== undefined && hold.epoch !== epoch) {
    throw epochConflict(id);
  }
  if (hold?.token !== undefined && hold.token < fence) {
    throw fenced(id);
  }
}

/** The error for a write to a damaged session. */
export function damaged(operation: string, sessionId: string): StoreError {
  return new StoreError(
    `A part of ${sessionLabel(sessionId)} is missing in Redis (evicted or deleted); nothing was written. ` +
      "Call rebuild() to restore it from the log, or clear() to remove the session.",
    { code: "damaged", operation, sessionId },
  );
}

/** Refuses a call without the data key that the session has, or with one that it has no more. */
export class KeyNeeded extends EncryptionError {
  constructor(
    sessionId: string,
    /** The session's key; undefined if it has none. */
    readonly stored: StoredKey | undefined,
  ) {
    const keyId = stored === undefined ? "" : keyParts(stored).masterId;
    super(unknownKeyMessage(keyId), { code: "unknown_key", sessionId, keyId });
  }
}

/** Tells a reader of the data key of a session; refuses one that does not encrypt. @throws EncryptionError. */
export function learnKey({ id, keys }: SessionRef, stored: StoredKey): void {
  if (keys === undefined) {
    throw new KeyNeeded(id, stored);
  }
  keys.learn?.(stored);
}

/** Asks a writer that encrypts for the digests of plain text too. Only for the writer, which sends them. */
export class OtherDigests extends Error {
  constructor() {
    super("The ids of an append are stored with other digests; nothing was written. Send plain digests too.");
    this.name = "OtherDigests";
  }
}

/** The error for a session of another owner, whether it is read or written. */
export function otherOwner(sessionId: string): ConflictError {
  return new ConflictError(
    `${capitalized(sessionLabel(sessionId))} belongs to another owner; nothing was read or written. ` +
      "Pass the session's owner, or use another session id.",
    { code: "other_owner", sessionId },
  );
}

/** Refuses callers with another owner than the stored one; a session without an owner is open to all. */
export function refuseOwner({ id, owner }: SessionRef, stored: string | null | undefined): void {
  if (owner !== undefined && (stored ?? "") !== "" && stored !== owner) {
    throw otherOwner(id);
  }
}

/** The error for a write to a session that was erased. */
export function erased(operation: string, sessionId: string): StoreError {
  return new StoreError(
    `${capitalized(sessionLabel(sessionId))} was erased a short time ago; nothing was written. ` +
      'Use another session id, or wait until its tombstone has expired ("guardMs", 10 minutes by default).',
    { code: "erased", operation, sessionId },
  );
}

/** The error for records that exceed a size limit. */
export function tooLarge(sessionId: string, sentence: string): StoreError {
  return new StoreError(`${sentence}; nothing was written.`, { code: "too_large", operation: "append", sessionId });
}

/** The error for a call to a store that was closed. */
export function closed(operation: string, sessionId: string | undefined): StoreError {
  return new StoreError("The store is closed; create a new one.", { code: "closed", operation, sessionId });
}

/** The text as the beginning of a sentence. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The error for data sealed with a key that this process lacks. */
export function unknownKey(sessionId: string | undefined, keyId: string): EncryptionError {
  return new EncryptionError(unknownKeyMessage(keyId), { code: "unknown_key", sessionId, keyId });
}

function unknownKeyMessage(keyId: string): string {
  return (
    `This data is encrypted with the key "${keyId}", which this process does not have; nothing was read or ` +
    'written. Add the key to the option "encryption".'
  );
}

/** The error for plain text where none is taken. */
export function plainText(sessionId: string): EncryptionError {
  return new EncryptionError(
    'This data is plain text, which the option "encryption" refuses (plain: "refuse"); nothing was read or written. ' +
      "It was stored before encryption was switched on, or by somebody who has no key.",
    { code: "plain_text", sessionId, keyId: "" },
  );
}

/** The error for data that its named key does not decrypt. */
export function wrongKey(sessionId: string, keyId: string): EncryptionError {
  return new EncryptionError(
    `Data under the key "${keyId}" cannot be decrypted: this process has another key of that id, or the data was ` +
      'changed or moved in Redis; nothing was read or written. Check the key in the option "encryption".',
    { code: "wrong_key", sessionId, keyId },
  );
}
