import { ConflictError, RecordError, StoreError } from "../base/errors.js";
import { sessionLabel } from "../store/refusals.js";

/** Names a thread in an error, as sessions are named. */
export function threadLabel(threadId: string): string {
  return sessionLabel(threadId).replace("session", "thread");
}

/** The error for a thread of which a key or an item is missing. */
export function damagedThread(operation: string, threadId: string): StoreError {
  return new StoreError(
    `A part of ${threadLabel(threadId)} is missing in Redis (evicted or deleted); nothing was read or written. ` +
      "Remove the rest with deleteThread().",
    { code: "damaged", operation, sessionId: threadId },
  );
}

/** The error for a thread that others kept changing while it was written or listed. */
export function changedThread(threadId: string): ConflictError {
  return new ConflictError(`Others kept dropping parts of ${threadLabel(threadId)} during the call; try again.`, {
    code: "stale",
    sessionId: threadId,
  });
}

/** The error for something of a checkpoint that exceeds `maxItemBytes`. */
export function tooLargeItem(operation: string, threadId: string, bytes: number, limit: number): StoreError {
  return new StoreError(
    `A value of ${bytes} bytes for ${threadLabel(threadId)} exceeds maxItemBytes (${limit}); nothing was written.`,
    { code: "too_large", operation, sessionId: threadId },
  );
}

/** The error for a checkpoint whose record cannot be read. */
export function corruptCheckpoint(threadId: string, id: string, cause?: unknown): RecordError {
  const label = encodeURIComponent(id.toWellFormed()).slice(0, 80);
  return new RecordError(`Checkpoint ${label} of ${threadLabel(threadId)} cannot be read.`, {
    code: "corrupt",
    ...(cause !== undefined && { cause }),
  });
}
