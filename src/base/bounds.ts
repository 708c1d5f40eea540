/**
 * A map whose entries weigh at most `capacity` together, by default one each. Evicts those set longest ago, an eighth
 * of all at once: each search for the oldest passes the places of all that were deleted since.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #capacity: number;
  readonly #weigh: (value: V) => number;
  #weight = 0;

  constructor(capacity: number, weigh: (value: V) => number = () => 1) {
    super();
    this.#capacity = capacity;
    this.#weigh = weigh;
  }

  /** Weight of all entries. */
  get weight(): number {
    return this.#weight;
  }

  /** Sets an entry and makes it the newest. One that is too heavy by itself is not kept. */
  override set(key: K, value: V): this {
    this.delete(key);
    const weight = this.#weigh(value);
    if (weight > this.#capacity) {
      return this;
    }
    super.set(key, value);
    this.#weight += weight;
    if (this.#weight > this.#capacity) {
      const most = Math.max(weight, this.#capacity - Math.floor(this.#capacity / 8));
      for (const oldest = this.keys(); this.#weight > most;) {
        this.delete(oldest.next().value!);
      }
    }
    return this;
  }

  override delete(key: K): boolean {
    this.#weight -= this.has(key) ? this.#weigh(this.get(key) as V) : 0;
    return super.delete(key);
  }

  override clear(): void {
    super.clear();
    this.#weight = 0;
  }
}

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

/** Limits of a call. */
interface CallBounds {
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

/**
 * Returns a function that loads code with its first call and returns what was loaded: a promise until it is there, and
 * the value itself from then on. A load that failed is tried again.
 */
export function loadedOnce<T extends object>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: T | undefined;
  let loading: Promise<T> | undefined;
  const begin = async (): Promise<T> => {
    try {
      return (loaded = await load());
    } finally {
      loading = undefined;
    }
  };
  return () => loaded ?? (loading ??= begin());
}

/** Returns the promise of a call; a rejection where it throws. Saves the two promises of an `async` function. */
export function promised<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

/** True for a text of at most so many bytes of UTF-8; a huge one is not encoded. */
export function fitsBytes(text: string, bytes: number): boolean {
  return text.length <= bytes && Buffer.byteLength(text) <= bytes;
}

/** Limits of retries under contention. After the last try a call is refused as `stale`. */
export const maxTries = {
  /** Compare-and-set edits of one session: rewinds, replacements, forks, reductions, repairs of the head. */
  edit: 3,
  /** Appends, labels, rebuilds, re-encryption passes and calls on threads, where contention is usual. */
  write: 5,
  /** Reservations of source numbers, which several instances make concurrently. */
  numbers: 16,
  /** Entries of owners' lists, and the last rounds of an owner's erasure. */
  lists: 3,
} as const;
