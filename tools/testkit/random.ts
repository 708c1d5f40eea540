/** Numbers that look random and follow from a seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. */
  next(): number {
    // mulberry32: 32 bits of state are enough, because every step of a plan begins with a state of its own.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** An integer from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)]!;
  }

  /** The values in a random order, one number drawn for each. */
  shuffled<T>(values: readonly T[]): T[] {
    const placed = values.map((value) => ({ value, place: this.next() }));
    return placed.sort((one, other) => one.place - other.place).map(({ value }) => value);
  }

  /** One of the values, each as often as its weight says. */
  weighted<T>(values: readonly T[], weightOf: (value: T) => number): T {
    const weights = values.map(weightOf);
    let left = this.next() * weights.reduce((sum, weight) => sum + weight, 0);
    const index = weights.findIndex((weight) => (left -= weight) < 0);
    return values[index < 0 ? values.length - 1 : index]!;
  }
}

/** The numbers that belong to a place in the plan: the same labels give the same numbers. */
export function randomOf(...labels: readonly (string | number)[]): Random {
  return new Random(hashOf(labels.join("/")));
}

/** FNV-1a, 32 bits. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  // The last characters of FNV reach only the low bits; a final mix spreads them.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
