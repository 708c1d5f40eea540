/** The first of many items in an order, without holding them all. */
export class FirstOf<T> {
  readonly #limit: number;
  readonly #compare: (a: T, b: T) => number;
  #items: T[] = [];

  constructor(limit: number, compare: (a: T, b: T) => number) {
    this.#limit = limit;
    this.#compare = compare;
  }

  get items(): readonly T[] {
    return this.#trimmed();
  }

  add(item: T): void {
    this.#items.push(item);
    if (this.#items.length >= 2 * this.#limit + 100) {
      this.#trimmed();
    }
  }

  #trimmed(): readonly T[] {
    this.#items = this.#items.sort(this.#compare).slice(0, this.#limit);
    return this.#items;
  }
}
