import { BytePairMerge } from "./byte-pair-merge.js";
import type { Splitter } from "./split.js";
import type { Vocabulary } from "./vocabulary.js";

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
