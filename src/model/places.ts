/** Places in one millisecond; those of both kinds stay below 2^53. */
const placesPerMs = 2_000;

/**
 * Numbers by which lists are ordered, and of which each is given once: even ones in front of all others, and odd ones
 * at a time in the past.
 */
export class InMemoryPlaces {
  #front = 0;
  readonly #taken = new Set<number>();

  /** A place in front of all that were given before. */
  front(milliseconds: number): number {
    this.#front = Math.max(this.#front + 2, Math.floor(milliseconds) * placesPerMs);
    return this.#front;
  }

  /** A free place at a time, found in few steps also among many of one millisecond. */
  at(milliseconds: number): number {
    let place = Math.floor(milliseconds) * placesPerMs + 1;
    for (let step = 2; this.#taken.has(place); step *= 2) {
      place += step;
    }
    this.#taken.add(place);
    return place;
  }

  /** Forgets the places at a time that are not among these. */
  keepOnly(places: readonly number[]): void {
    this.#taken.clear();
    places.filter((place) => place % 2 === 1).forEach((place) => this.#taken.add(place));
  }
}
