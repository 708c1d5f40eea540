import { ConfigurationError, ConflictError, MemoryError } from "../../base/errors.js";
import { report, type MemoryEventHandler } from "../../base/events.js";

/** A session, thread or store of items that a batch operation skipped. */
export interface SessionProblem {
  /** The skipped session or thread; empty for the items of long-term memory. */
  readonly sessionId: string;
  /** Kind of the skipped data: `thread`, or `item` of long-term memory. @default a session */
  readonly kind?: string;
  /** The reason, such as an EncryptionError `unknown_key`. */
  readonly error: MemoryError;
}

/** Receivers of skipped sessions. */
export interface ProblemListeners {
  readonly onProblem?: ((problem: SessionProblem) => void) | undefined;
  readonly onEvent?: MemoryEventHandler | undefined;
}

/**
 * True for an error of one session, so that a batch operation continues with the next. False for an invalid option, and
 * for errors that the next session would meet too, such as a server that does not answer.
 */
export function concernsOneSession(error: unknown): error is MemoryError {
  return (
    MemoryError.isInstance(error) &&
    !ConfigurationError.isInstance(error) &&
    (!error.retryable || ConflictError.isInstance(error))
  );
}

/** Reports a skipped session by an event, and to the caller. */
export function leaveOut(
  { onProblem, onEvent }: ProblemListeners,
  { operation, ...problem }: SessionProblem & { readonly operation: string },
): void {
  report(onEvent, { type: "session_skipped", operation, ...problem });
  onProblem?.(problem);
}
