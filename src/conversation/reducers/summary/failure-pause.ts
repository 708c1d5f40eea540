import { BoundedMap } from "../../../base/bounded-map.js";

/** Consecutive failures from which on the next try has to wait. */
const freeFailures = 3;
const firstPauseMs = 1_000;
const longestPauseMs = 300_000;
/** How many conversations to remember failures of. */
const remembered = 1_000;

interface Failures {
  readonly count: number;
  readonly until: number;
}

/**
 * Delays tries that keep failing: by one second after the third consecutive failure, then twice as long each time, up
 * to five minutes.
 */
export class FailurePause {
  readonly #failures = new BoundedMap<string, Failures>(remembered);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns the milliseconds to wait before the next try for this key; 0 if there is no need to wait. */
  remaining(key: string): number {
    return Math.max(0, (this.#failures.get(key)?.until ?? 0) - this.#now());
  }

  failed(key: string): void {
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const pause = count < freeFailures ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (count - freeFailures));
    this.#failures.set(key, { count, until: this.#now() + pause });
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }
}
