import { StoreError } from "../../src/base/errors.js";

/**
 * Makes a call until it is answered, as an application does: calls that fail with an error that may be tried again are
 * made again. Tests with a short timeout use it for what has to succeed, however slow the machine is.
 */
export async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!StoreError.isInstance(error) || !error.retryable) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
