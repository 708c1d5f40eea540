import { BlockMerge } from "./byte-pair-merge.js";
import type { Splitter } from "./split.js";
import type { Vocabulary } from "./vocabulary.js";

/** Pieces of more code units than this are merged block by block. */
const longPiece = 2_048;
const unitsPerStep = 1_024;

/** Counts the tokens of text in one encoding. */
export class TokenTally {
  readonly #vocabulary: Vocabulary;
  readonly #split: Splitter;
  readonly #merge: BlockMerge;
  readonly #blockSize: number;
  readonly #piece = new Uint8Array(longPiece * 3);

  /** `blockSize`: bytes that a long run is merged by; results do not depend on it. */
  constructor({
    vocabulary,
    split,
    blockSize = 8_192,
  }: {
    vocabulary: Vocabulary;
    split: Splitter;
    blockSize?: number;
  }) {
    this.#vocabulary = vocabulary;
    this.#split = split;
    this.#merge = new BlockMerge(vocabulary);
    this.#blockSize = blockSize;
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
    return this.#vocabulary.rankOf(this.#piece, 0, length) >= 0 ? 1 : this.#merge.run(this.#piece, 0, length);
  }

  /**
   * The exact count of a long run, with a merge of bounded size at a time. A block is cut at a token's end in its last
   * quarter, and the next one begins there. The cut is right if the next block's first token is the one that stood
   * there before: a sequence of tokens is what merging makes of the whole if, and only if, it is so for each two
   * neighbours, since merging never looks further. If it is another token, all begins again with blocks twice as long;
   * at 8 kB that is not known to happen.
   */
  *#longPieceSteps(piece: string): Generator<undefined, number> {
    // Finding the piece and writing it as bytes are one step each.
    yield;
    const bytes = new TextEncoder().encode(piece);
    yield;
    let cut = wholePiece;
    for (let size = this.#blockSize; ;) {
      const to = Math.min(cut.at + size, bytes.length);
      const tokens = this.#merge.run(bytes, cut.at, to);
      const asExpected = cut.nextEnd === undefined || cut.at + this.#merge.tokenEnd(0) === cut.nextEnd;
      if (asExpected && to === bytes.length) {
        return cut.tokens + tokens;
      }
      const next = asExpected ? this.#cutAfter(cut, to) : undefined;
      size = next === undefined ? size * 2 : size;
      cut = next ?? wholePiece;
      yield;
    }
  }

  /** The first token's end in the last quarter of the block just merged; undefined if no token follows it. */
  #cutAfter({ at, tokens }: Cut, to: number): Cut | undefined {
    const target = at + ((to - at) * 3) / 4;
    let place = at;
    let passed = tokens;
    while (place < target) {
      place = at + this.#merge.tokenEnd(place - at);
      passed += 1;
    }
    return place < to ? { at: place, tokens: passed, nextEnd: at + this.#merge.tokenEnd(place - at) } : undefined;
  }
}

/** A token's end inside a long run: the tokens before it, and where the token after it should end. */
interface Cut {
  readonly at: number;
  readonly tokens: number;
  readonly nextEnd: number | undefined;
}

const wholePiece: Cut = { at: 0, tokens: 0, nextEnd: undefined };

/** Writes a part of a text as UTF-8, a lone surrogate as U+FFFD as TextEncoder does; returns the number of bytes. */
function writeUtf8(text: string, { start, end, bytes }: { start: number; end: number; bytes: Uint8Array }): number {
  let length = 0;
  for (let index = start; index < end; index += 1) {
    let code = text.charCodeAt(index);
    if (code < 0x80) {
      bytes[length++] = code;
      continue;
    }
    if (code >= 0xd800 && code <= 0xdfff) {
      code = text.codePointAt(index)!;
      index += code > 0xffff ? 1 : 0;
      code = code <= 0xffff ? 0xfffd : code;
    }
    length = writeCodePoint(bytes, length, code);
  }
  return length;
}

function writeCodePoint(bytes: Uint8Array, at: number, code: number): number {
  let length = at;
  if (code < 0x800) {
    bytes[length++] = 0xc0 | (code >> 6);
  } else if (code < 0x10000) {
    bytes[length++] = 0xe0 | (code >> 12);
    bytes[length++] = 0x80 | ((code >> 6) & 0x3f);
  } else {
    bytes[length++] = 0xf0 | (code >> 18);
    bytes[length++] = 0x80 | ((code >> 12) & 0x3f);
    bytes[length++] = 0x80 | ((code >> 6) & 0x3f);
  }
  bytes[length++] = 0x80 | (code & 0x3f);
  return length;
}
