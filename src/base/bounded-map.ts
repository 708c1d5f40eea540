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
