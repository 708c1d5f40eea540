/** Returns the promise of a call; a rejection where it throws. Saves the two promises of an `async` function. */
export function promised<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error as Error);
  }
}
