import { BlockMerge } from "./byte-pair-merge.js";
import { widthAt } from "./character-classes.js";
import type { Splitter } from "./split.js";
import type { Vocabulary } from "./vocabulary.js";

/** Code units that are merged at once: a longer run without a break, such as base64, is counted in parts. */
const longestPart = 2_048;
const unitsPerStep = 1_024;

/** Counts the tokens of text in one encoding; those of a run in parts may differ by one for each part. */
export class TokenTally {
  readonly #vocabulary: Vocabulary;
  readonly #split: Splitter;
  readonly #merge: BlockMerge;
  readonly #part = new Uint8Array(longestPart * 3);

  constructor(vocabulary: Vocabulary, split: Splitter) {
    this.#vocabulary = vocabulary;
    this.#split = split;
    this.#merge = new BlockMerge(vocabulary);
  }

  /** Counts in steps of a few milliseconds at most, and returns the sum. */
  *steps(texts: readonly string[]): Generator<undefined, number> {
    let [tokens, work] = [0, 0];
    for (const text of texts) {
      for (let [start, end] = [0, 0]; start < text.length;) {
        end = start < end ? end : this.#split(text, start);
        const to = partEnd(text, start, end);
        tokens += this.#countPart(text, start, to);
        work += to - start;
        start = to;
        if (work >= unitsPerStep) {
          yield;
          work = 0;
        }
      }
    }
    return tokens;
  }

  #countPart(text: string, start: number, end: number): number {
    const length = writeUtf8(text, { start, end, bytes: this.#part });
    // As in tiktoken, a piece that is a token is that token, whatever merging would make of it.
    return this.#vocabulary.rankOf(this.#part, 0, length) >= 0 ? 1 : this.#merge.run(this.#part, 0, length);
  }
}

/** The end of the part of a piece that begins at `start`; not between the halves of a surrogate pair. */
function partEnd(text: string, start: number, end: number): number {
  const last = start + longestPart - 1;
  return end <= last + 1 ? end : last + (widthAt(text, last) === 2 ? 0 : 1);
}

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
