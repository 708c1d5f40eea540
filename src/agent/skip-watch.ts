/** Longer than other middleware takes between two hooks of this one, unless it calls a model itself. */
const patienceMs = 1_000;

/**
 * Notices a run that another middleware ended by a jump past all later hooks: what should follow at once does not. Does
 * not keep the process alive.
 */
export class SkipWatch {
  #stop: (() => void) | undefined;

  /** Calls `onSkip` unless `disarm` is called in time. Resolves when one of both has happened. */
  arm(onSkip: () => Promise<void>): Promise<void> {
    this.disarm();
    return new Promise((resolve) => {
      const timer = setTimeout(() => void onSkip().finally(resolve), patienceMs);
      timer.unref();
      this.#stop = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** What was expected has come. */
  disarm(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}
