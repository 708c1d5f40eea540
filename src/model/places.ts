/** Places per millisecond; a larger number would exceed 2^53. */
const placesPerMs = 2_000;

/** Unique sort keys of lists: even ones for the front, odd ones for a time in the past. */
export class InMemoryPlaces {
  #front = 0;
  readonly #taken = new Set<number>();

  /** A place in front of all earlier ones. */
  front(milliseconds: number): number {
    this.#front = Math.max(this.#front + 2, Math.floor(milliseconds) * placesPerMs);
    return this.#front;
  }

  /** A free place at a time, in few steps even if many share the millisecond. */
  at(milliseconds: number): number {
    let place = Math.floor(milliseconds) * placesPerMs + 1;
    for (let step = 2; this.#taken.has(place); step *= 2) {
      place += step;
    }
    this.#taken.add(place);
    return place;
  }

  /** Releases all odd places but these. */
  keepOnly(places: readonly number[]): void {
    this.#taken.clear();
    places.filter((place) => place % 2 === 1).forEach((place) => this.#taken.add(place));
  }
}
