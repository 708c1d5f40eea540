const capacity = 10_000;

/** Where a view began when this process last saw it. */
export interface KnownStart {
  readonly base: number;
  readonly start: number;
}

/** The starts that this process saw last, for as many sessions as are worth remembering; the longest unused goes first. */
export class StartCache {
  readonly #starts = new Map<string, KnownStart>();

  get(sessionId: string): KnownStart | undefined {
    const known = this.#starts.get(sessionId);
    if (known !== undefined) {
      this.set(sessionId, known);
    }
    return known;
  }

  set(sessionId: string, known: KnownStart): void {
    this.#starts.delete(sessionId);
    this.#starts.set(sessionId, known);
    if (this.#starts.size > capacity) {
      this.#starts.delete(this.#starts.keys().next().value!);
    }
  }

  delete(sessionId: string): void {
    this.#starts.delete(sessionId);
  }
}
