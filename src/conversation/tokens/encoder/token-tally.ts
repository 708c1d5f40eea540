import { Buffer } from "node:buffer";
import type { Splitter } from "./split.js";
import { MemoryError } from "../../../base/errors.js";

/** Pieces of more code units than this are merged step by step. */
const longPiece = 2_048;
const unitsPerStep = 1_024;
const mergesPerStep = 8_192;

/** Counts the tokens of text in one encoding. */
export class TokenTally {
  readonly #vocabulary: Vocabulary;
  readonly #split: Splitter;
  readonly #merge: BytePairMerge;
  readonly #piece = new Uint8Array(longPiece * 3);

  constructor(vocabulary: Vocabulary, split: Splitter) {
    this.#vocabulary = vocabulary;
    this.#split = split;
    this.#merge = new BytePairMerge(vocabulary);
  }

  /** Counts in steps of a few milliseconds at most, and returns the sum. */
  *steps(texts: readonly string[]): Generator<undefined, number> {
    let tokens = 0;
    let work = 0;
    for (const text of texts) {
      for (let start = 0; start < text.length;) {
        const end = this.#split(text, start);
        work += end - start;
        tokens +=
          end - start > longPiece
            ? yield* this.#longPieceSteps(text.slice(start, end))
            : this.#countPiece(text, start, end);
        start = end;
        if (work >= unitsPerStep) {
          yield;
          work = 0;
        }
      }
    }
    return tokens;
  }

  #countPiece(text: string, start: number, end: number): number {
    const length = writeUtf8(text, { start, end, bytes: this.#piece });
    // As in tiktoken, a piece that is a token is that token, whatever merging would make of it.
    if (this.#vocabulary.rankOf(this.#piece, 0, length) >= 0) {
      return 1;
    }
    this.#merge.begin(this.#piece, length);
    this.#merge.work(Infinity);
    return this.#merge.tokens;
  }

  *#longPieceSteps(piece: string): Generator<undefined, number> {
    // Finding the piece and writing it as bytes are one step each.
    yield;
    const bytes = encoder.encode(piece);
    yield;
    // Other counts may run between two steps.
    const merge = new BytePairMerge(this.#vocabulary);
    merge.begin(bytes, bytes.length);
    while (!merge.work(mergesPerStep)) {
      yield;
    }
    return merge.tokens;
  }
}

const encoder = new TextEncoder();

/** Writes a part of a text as UTF-8; returns the number of bytes. */
function writeUtf8(text: string, { start, end, bytes }: { start: number; end: number; bytes: Uint8Array }): number {
  for (let index = start; index < end; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= 0x80) {
      return encoder.encodeInto(text.slice(start, end), bytes).written;
    }
    bytes[index - start] = code;
  }
  return end - start;
}

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

/** The ranks of an encoding as js-tiktoken ships them: one line `! <first rank> <base64> <base64> …`. */
export interface PackedRanks {
  readonly bpe_ranks: string;
}

// A constant of the module, because a global is looked up slowly where tests run (in a context of node:vm), and this is
// called per byte.
const { imul } = Math;
const firstLine = "! 0 ";
const tokensPerStep = 8_192;

/**
 * Byte sequences and their ranks, in typed arrays: some 6 MB for `o200k_base` and no string per token. (js-tiktoken's
 * own table takes a second to build, in one go, because it keeps every token as a comma-separated text.)
 */
export class Vocabulary {
  readonly #bytes: Buffer;
  readonly #starts: Uint32Array;
  readonly #slots: Int32Array;
  readonly #pairs = new Int32Array(0x10000).fill(-1);
  #longest = 0;

  private constructor(tokens: number, characters: number) {
    this.#bytes = Buffer.allocUnsafeSlow(characters);
    this.#starts = new Uint32Array(tokens + 1);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(tokens * 2))).fill(-1);
  }

  /** Reads packed ranks, in steps of a few milliseconds. */
  static *read({ bpe_ranks }: PackedRanks): Generator<undefined, Vocabulary> {
    const packed = bpe_ranks.trimEnd();
    // The place of a token is its rank: so it is in the encodings supported here, which are one line from rank 0 on.
    if (!packed.startsWith(firstLine) || packed.includes("\n")) {
      throw new MemoryError("The installed js-tiktoken packs its ranks in another way; use version 1.0.21.", {
        code: "unsupported_ranks",
      });
    }
    let tokens = 1;
    // In one step: it takes two milliseconds, where a split into 200,000 texts takes ten times as long.
    for (let at = packed.indexOf(" ", firstLine.length); at !== -1; at = packed.indexOf(" ", at + 1)) {
      tokens += 1;
    }
    const vocabulary = new Vocabulary(tokens, packed.length);
    for (let [rank, from] = [0, firstLine.length]; rank < tokens; rank += 1) {
      const space = packed.indexOf(" ", from);
      vocabulary.#add(rank, packed.slice(from, space === -1 ? packed.length : space));
      from = space + 1;
      if (rank % tokensPerStep === 0) {
        yield;
      }
    }
    return vocabulary;
  }

  /** The rank of the bytes from `start` up to `end`; -1 if they are not a token. */
  rankOf(bytes: Uint8Array, start: number, end: number): number {
    if (end - start === 2) {
      return this.#pairs[bytes[start]! * 256 + bytes[start + 1]!]!;
    }
    if (end - start > this.#longest) {
      return -1;
    }
    const mask = this.#slots.length - 1;
    for (let slot = hash(bytes, start, end) & mask; ; slot = (slot + 1) & mask) {
      const rank = this.#slots[slot]!;
      if (rank === -1 || this.#holds(rank, bytes, start, end)) {
        return rank;
      }
    }
  }

  #holds(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    let own = this.#starts[rank]!;
    if (this.#starts[rank + 1]! - own !== end - start) {
      return false;
    }
    for (let index = start; index < end; index += 1, own += 1) {
      if (this.#bytes[own] !== bytes[index]) {
        return false;
      }
    }
    return true;
  }

  /** Decodes a token in base64. */
  #add(rank: number, token: string): void {
    const start = this.#starts[rank]!;
    const end = start + this.#bytes.write(token, start, "base64");
    this.#starts[rank + 1] = end;
    this.#longest = end - start > this.#longest ? end - start : this.#longest;
    if (end - start === 2) {
      this.#pairs[this.#bytes[start]! * 256 + this.#bytes[start + 1]!] = rank;
    }
    const mask = this.#slots.length - 1;
    let slot = hash(this.#bytes, start, end) & mask;
    while (this.#slots[slot] !== -1) {
      slot = (slot + 1) & mask;
    }
    this.#slots[slot] = rank;
  }
}

/** FNV-1a, with the high bits folded in because the table uses the low ones. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5;
  for (let index = start; index < end; index += 1) {
    value = imul(value ^ bytes[index]!, 0x01000193);
  }
  return value ^ (value >>> 15);
}
