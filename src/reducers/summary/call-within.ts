import { SummaryError } from "../../errors.js";

/** Bounds of a call. */
export interface CallBounds {
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The result of a call that ends with its time or with the caller's signal, also if what is called does not listen to
 * the signal that it is given.
 *
 * @throws SummaryError `timeout`; the reason of the signal; what the call throws.
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
      new SummaryError(`The summary was not there within ${timeout} ms; no message was removed.`, { code: "timeout" }),
    );
  const timer = setTimeout(expire, timeout);
  try {
    return await Promise.race([call(bounds.signal), rejectionOf(bounds.signal)]);
  } catch (error) {
    // A model that listens throws an error of its own; what counts is why it had to.
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
