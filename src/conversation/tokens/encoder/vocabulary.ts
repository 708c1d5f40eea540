import { Buffer } from "node:buffer";
import { MemoryError } from "../../../base/errors.js";

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
