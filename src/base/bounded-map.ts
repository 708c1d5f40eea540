/** A map of at most `capacity` entries: beyond it those go that were set the longest time ago. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #capacity: number;

  constructor(capacity: number) {
    super();
    this.#capacity = capacity;
  }

  /** Sets an entry, which becomes the newest, also where it was there before. */
  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#capacity) {
      this.delete(this.keys().next().value!);
    }
    return this;
  }
}
