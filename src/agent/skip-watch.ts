/** Longer than other middleware takes between two hooks of this one, unless it calls a model itself. */
export const betweenHooks = 1_000;
/** Longer than all other middleware takes between the first hook of a run and the first model call, as a rule. */
export const beforeFirstCall = 10_000;

/**
 * Notices a run that another middleware ended by a jump past all later hooks: what should follow at once does not. Does
 * not keep the process alive.
 */
export class SkipWatch {
  #stop: (() => void) | undefined;

  /** Calls `onSkip` unless `disarm` is called in time. Resolves when one of both has happened. */
  arm(patienceMs: number, onSkip: () => Promise<void>): Promise<void> {
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
