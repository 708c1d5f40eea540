/**
 * Returns what a promise resolves to, or what `late` returns if that takes longer. The work behind the promise goes on
 * then; a later rejection is ignored.
 *
 * @throws what the promise rejects with in time, and what `late` throws.
 */
export function inTime<T, Late>(
  promise: T | PromiseLike<T>,
  milliseconds: number,
  late: () => Late,
): Promise<Awaited<T> | Late> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return Promise.race([promise, over.then(late)]).finally(() => clearTimeout(timer));
}
