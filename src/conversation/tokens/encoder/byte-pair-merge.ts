import type { Vocabulary } from "./vocabulary.js";

// A constant of the module, because a global is looked up slowly where tests run (in a context of node:vm), and this is
// called per byte.
const { floor } = Math;
// Keys order the heap by rank and then by place; both fit a double exactly (18 and 34 bits).
const placeSpan = 2 ** 34;

/**
 * Byte pair encoding in O(n log n): the pair of lowest rank, leftmost first, is merged until no pair has a rank.
 * (Looking for that pair again before each merge, as tiktoken's ports do, is quadratic: 23 s for 16,000 times the
 * letter a.)
 */
export class BytePairMerge {
  readonly #vocabulary: Vocabulary;
  #bytes: Uint8Array = new Uint8Array(0);
  #length = 0;
  #entered = 0;
  #tokens = 0;
  /**
   * By place of a token's first byte: where the tokens beside it begin, and the rank that it would have merged with the
   * next one.
   */
  #next = new Int32Array(0);
  #previous = new Int32Array(0);
  #pairRank = new Int32Array(0);
  #heap = new Float64Array(0);
  #heapSize = 0;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** The tokens of the bytes, once {@link BytePairMerge.work} has ended. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Begins with the first `length` of these bytes. */
  begin(bytes: Uint8Array, length: number): void {
    this.#bytes = bytes;
    this.#length = this.#tokens = length;
    this.#entered = this.#heapSize = 0;
    this.#reserve(length);
    for (let place = 0; place < length; place += 1) {
      this.#next[place] = place + 1;
      this.#previous[place] = place - 1;
    }
  }

  /** Does at most so many steps; true once there is nothing left to merge. */
  work(steps: number): boolean {
    for (let step = 0; step < steps; step += 1) {
      if (this.#entered < this.#length) {
        this.#enter(this.#entered);
        this.#entered += 1;
      } else if (this.#heapSize > 0) {
        this.#mergeNext();
      } else {
        return true;
      }
    }
    return false;
  }

  #reserve(length: number): void {
    if (this.#next.length < length) {
      this.#next = new Int32Array(length);
      this.#previous = new Int32Array(length);
      this.#pairRank = new Int32Array(length);
      // One entry per byte, and at most two more per merge.
      this.#heap = new Float64Array(length * 3);
    }
  }

  #mergeNext(): void {
    const key = this.#pop();
    const rank = floor(key / placeSpan);
    const place = key - rank * placeSpan;
    // An entry is out of date once its pair was merged or its left token merged with another.
    if (this.#pairRank[place] === rank) {
      this.#mergeAt(place);
      this.#tokens -= 1;
    }
  }

  #mergeAt(place: number): void {
    const right = this.#next[place]!;
    const after = this.#next[right]!;
    this.#next[place] = after;
    this.#pairRank[right] = -1;
    if (after < this.#length) {
      this.#previous[after] = place;
    }
    this.#enter(place);
    if (this.#previous[place]! >= 0) {
      this.#enter(this.#previous[place]!);
    }
  }

  /** Notes the rank of the token at `place` together with the next one. */
  #enter(place: number): void {
    const right = this.#next[place]!;
    const rank = right < this.#length ? this.#vocabulary.rankOf(this.#bytes, place, this.#next[right]!) : -1;
    this.#pairRank[place] = rank;
    if (rank >= 0) {
      this.#push(rank * placeSpan + place);
    }
  }

  #push(key: number): void {
    const heap = this.#heap;
    let index = this.#heapSize;
    this.#heapSize += 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (heap[parent]! <= key) {
        break;
      }
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = key;
  }

  #pop(): number {
    const heap = this.#heap;
    const top = heap[0]!;
    this.#heapSize -= 1;
    const size = this.#heapSize;
    const key = heap[size]!;
    let index = 0;
    for (let child = 1; child < size; child = 2 * index + 1) {
      if (child + 1 < size && heap[child + 1]! < heap[child]!) {
        child += 1;
      }
      if (heap[child]! >= key) {
        break;
      }
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = key;
    return top;
  }
}
