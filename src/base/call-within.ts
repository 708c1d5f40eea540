import { inTime } from "./in-time.js";

/** Limits of a call. */
export interface CallBounds {
  readonly milliseconds: number;
  readonly late: () => Error;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a call within a time and the caller's signal. The signal that the call is given aborts at the end of either; a
 * call that ignores it is left alone.
 *
 * @throws the error of `late`; the signal's reason; whatever the call throws.
 */
export async function callWithin<T>(
  { milliseconds, late, signal }: CallBounds,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const bounds = new AbortController();
  const abort = (): void => bounds.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    const called = Promise.race([call(bounds.signal), rejectionOf(bounds.signal)]);
    return await inTime(called, milliseconds, () => {
      bounds.abort(late());
      throw bounds.signal.reason;
    });
  } catch (error) {
    // A call that obeys the signal throws its own error; the reason of the signal says more.
    bounds.signal.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
