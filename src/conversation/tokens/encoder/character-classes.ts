// Bits of classAt(). Each code point is a letter (one of three kinds), a digit, white space, or a symbol, which a lone
// surrogate is, too.

/** Letters with a case: capitals and title-case letters. */
export const uppercase = 1;
/** Small letters. */
export const lowercase = 2;
/** Letters without a case: Han, Arabic, modifiers and many more. */
export const otherLetter = 4;
/** Accents and vowel signs that join the letter before them; set beside `symbol`. */
export const mark = 8;
/** Digits and other numbers. */
export const digit = 16;
/** White space. */
export const space = 32;
/** Carriage return and line feed; set beside `space`. */
export const lineBreak = 64;
/** Punctuation, symbols and everything else. */
export const symbol = 128;

const patterns: readonly (readonly [RegExp, number])[] = [
  [/[\p{Lu}\p{Lt}]+/gu, uppercase],
  [/\p{Ll}+/gu, lowercase],
  [/[\p{Lm}\p{Lo}]+/gu, otherLetter],
  [/\p{M}+/gu, mark],
  [/\p{N}+/gu, digit],
  [/\s+/gu, space],
  [/[\r\n]+/gu, lineBreak],
];

const classified = /[\p{L}\p{M}\p{N}\s]/u;

// One page per 256 code points, filled when a character of it is first met: most applications meet a few of the 4,352.
const pages: (Uint8Array | undefined)[] = new Array<Uint8Array | undefined>(0x1100).fill(undefined);

/** The class of the code point at an index of the text: the bits above, added up. */
export function classAt(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  const codePoint = (unit & 0xf800) === 0xd800 ? text.codePointAt(index)! : unit;
  return (pages[codePoint >> 8] ?? readPage(codePoint >> 8))[codePoint & 0xff]!;
}

/** Code units of the code point at an index of the text: 2 for a surrogate pair, else 1. */
export function widthAt(text: string, index: number): number {
  return (text.charCodeAt(index) & 0xfc00) === 0xd800 && text.codePointAt(index)! > 0xffff ? 2 : 1;
}

/** The end of a run of code points with any of the bits; `from` if there is none. */
export function runEnd(text: string, from: number, bits: number): number {
  let end = from;
  while (end < text.length && (classAt(text, end) & bits) !== 0) {
    end += widthAt(text, end);
  }
  return end;
}

function readPage(number: number): Uint8Array {
  const page = new Uint8Array(256).fill(symbol);
  const characters = String.fromCodePoint(...Array.from(page, (_, offset) => number * 256 + offset));
  const width = characters.length / 256;
  // Four pages of five hold nothing but unassigned and private characters and symbols.
  for (const [pattern, bit] of classified.test(characters) ? patterns : []) {
    for (const { 0: run, index } of characters.matchAll(pattern)) {
      for (let unit = index; unit < index + run.length; unit += width) {
        page[unit / width] = (page[unit / width]! & ~(bit === mark ? 0 : symbol)) | bit;
      }
    }
  }
  pages[number] = page;
  return page;
}
