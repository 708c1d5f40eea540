import { ConfigurationError, ConflictError, MemoryError } from "../base/errors.js";
import { report, type MemoryEventHandler } from "../base/events.js";

/** A session that was left out of work on many sessions. */
export interface SessionProblem {
  /** The session that was left out. */
  readonly sessionId: string;
  /** Why, such as an EncryptionError `unknown_key`. */
  readonly error: MemoryError;
}

/** Where sessions that are left out are named. */
export interface ProblemListeners {
  readonly onProblem?: ((problem: SessionProblem) => void) | undefined;
  readonly onEvent?: MemoryEventHandler | undefined;
}

/**
 * True for what is wrong with one session, so that work on many goes on with the next. Not for a wrong option, and not
 * for what the next session would meet too, such as a server that does not answer.
 */
export function concernsOneSession(error: unknown): error is MemoryError {
  return (
    MemoryError.isInstance(error) &&
    !ConfigurationError.isInstance(error) &&
    (!error.retryable || ConflictError.isInstance(error))
  );
}

/** Names a session that is left out: by an event, and to the caller. */
export function leaveOut(
  { onProblem, onEvent }: ProblemListeners,
  { operation, ...problem }: SessionProblem & { readonly operation: string },
): void {
  report(onEvent, { type: "session_skipped", operation, ...problem });
  onProblem?.(problem);
}
