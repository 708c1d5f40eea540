import { SummaryError } from "../../base/errors.js";

/** Limits of a call. */
export interface CallBounds {
  /** In milliseconds. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a call with a timeout and the caller's signal, even if the call ignores the signal that it is given.
 *
 * @throws SummaryError `timeout`; the signal's reason; whatever the call throws.
 */
export async function callWithin<T>(
  { timeout, signal }: CallBounds,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const bounds = new AbortController();
  const abort = (): void => bounds.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const expire = (): void =>
    bounds.abort(
      new SummaryError(`Summarization timed out after ${timeout} ms; no message was removed.`, { code: "timeout" }),
    );
  const timer = setTimeout(expire, timeout);
  try {
    return await Promise.race([call(bounds.signal), rejectionOf(bounds.signal)]);
  } catch (error) {
    // A model that obeys the signal throws its own error; the reason of the signal says more.
    bounds.signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
