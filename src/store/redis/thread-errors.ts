import { ConflictError, RecordError, StoreError } from "../../base/errors.js";
import { sessionLabel } from "../contract/refusals.js";

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

/** The error for a checkpoint that names items which Redis does not have. */
export function damagedCheckpoint(threadId: string, id: string): StoreError {
  return new StoreError(
    `A part of checkpoint ${checkpointLabel(id)} of ${threadLabel(threadId)} is missing in Redis (evicted, deleted ` +
      "or changed by hand); nothing was read. list() yields the checkpoints that can be read: go on from one of " +
      "them, or remove the thread with deleteThread().",
    { code: "damaged", operation: "read", sessionId: threadId },
  );
}

/** The error for a checkpoint that a config names and that is not stored any more. */
export function unknownCheckpoint(threadId: string, id: string): ConflictError {
  return new ConflictError(
    `Checkpoint ${checkpointLabel(id)} of ${threadLabel(threadId)} is not stored any more: "keep" or prune() ` +
      "dropped it, or the thread has expired; nothing was read or written. Leave out checkpoint_id, and read " +
      "getState(thread).tasks first: it shows what waits for an answer.",
    { code: "unknown_checkpoint", sessionId: threadId },
  );
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
  return new RecordError(`Checkpoint ${checkpointLabel(id)} of ${threadLabel(threadId)} cannot be read.`, {
    code: "corrupt",
    ...(cause !== undefined && { cause }),
  });
}

function checkpointLabel(id: string): string {
  return encodeURIComponent(id.toWellFormed()).slice(0, 80);
}
