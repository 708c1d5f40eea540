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
const lineBreak = 64;
/** Punctuation, symbols and everything else. */
const symbol = 128;

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
function runEnd(text: string, from: number, bits: number): number {
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

/**
 * The end of the piece of text that begins at `from`. Pieces are tokenized one by one; no token crosses from one to
 * the next.
 */
export type Splitter = (text: string, from: number) => number;

const letter = uppercase | lowercase | otherLetter;
const wordStart = uppercase | otherLetter | mark;
const wordRest = lowercase | otherLetter | mark;
const contractions = ["s", "t", "re", "ve", "m", "ll", "d"];

/**
 * The pieces of `o200k_base`: what its published pattern matches, found by hand because a regular expression cannot be
 * interrupted and overflows its stack on a run of some million characters. Reads each character a bounded number of
 * times.
 */
export function splitO200k(text: string, from: number): number {
  const first = classAt(text, from);
  if ((first & digit) !== 0) {
    return digitsEnd(text, from);
  }
  const start = wordStartAt(text, from, first);
  const end =
    casedWordEnd(text, start) || casedWordEnd(text, from) || capitalsEnd(text, start) || capitalsEnd(text, from);
  return end > 0 ? contractionEnd(text, end) : symbolsOrSpaceEnd(text, from, true);
}

/** The pieces of `cl100k_base`, likewise. */
export function splitCl100k(text: string, from: number): number {
  const contracted = contractionEnd(text, from);
  if (contracted > from) {
    return contracted;
  }
  const first = classAt(text, from);
  if ((first & digit) !== 0) {
    return digitsEnd(text, from);
  }
  const start = wordStartAt(text, from, first);
  const end = runEnd(text, start, letter);
  return end > start ? end : symbolsOrSpaceEnd(text, from, false);
}

/**
 * The start of a possible word: a piece may have one character that is not a letter (a space, a bracket) before it.
 */
function wordStartAt(text: string, from: number, first: number): number {
  return (first & (letter | lineBreak)) === 0 ? from + widthAt(text, from) : from;
}

/** `[Lu Lt Lm Lo M]+`; 0 if there is none. */
function capitalsEnd(text: string, from: number): number {
  const end = runEnd(text, from, wordStart);
  return end > from ? end : 0;
}

/**
 * `[Lu Lt Lm Lo M]*[Ll Lm Lo M]+`, with the pattern's backtracking: the run of the first set gives back up to its last
 * uncased character; 0 if there is none.
 */
function casedWordEnd(text: string, from: number): number {
  const end = runEnd(text, from, wordStart);
  const rest = runEnd(text, end, wordRest);
  return rest > end ? rest : lastUncasedEnd(text, from, end);
}

function lastUncasedEnd(text: string, from: number, to: number): number {
  if (runEnd(text, from, uppercase) === to) {
    return 0;
  }
  let end = to;
  while ((classAt(text, startOfLast(text, end)) & wordRest) === 0) {
    end = startOfLast(text, end);
  }
  return end;
}

/** The start of the last code point before `end`. */
function startOfLast(text: string, end: number): number {
  return end > 1 && widthAt(text, end - 2) === 2 ? end - 2 : end - 1;
}

/** The end of `'s`, `'re` and the like at an index, in either case; the index itself if there is none. */
function contractionEnd(text: string, from: number): number {
  if (text.charCodeAt(from) !== 0x27) {
    return from;
  }
  const ending = text.slice(from + 1, from + 3).replace(/[A-Z]/g, (capital) => capital.toLowerCase());
  const match = contractions.find((contraction) => ending.startsWith(contraction));
  return match === undefined ? from : from + 1 + match.length;
}

/** Symbols with a space in front and line breaks behind (in o200k_base also slashes), or white space. */
function symbolsOrSpaceEnd(text: string, from: number, slashes: boolean): number {
  const symbols = text.charCodeAt(from) === 0x20 ? from + 1 : from;
  const end = runEnd(text, symbols, symbol);
  if (end === symbols) {
    return spaceEnd(text, from);
  }
  let trailing = runEnd(text, end, lineBreak);
  while (slashes && text.charCodeAt(trailing) === 0x2f) {
    trailing = runEnd(text, trailing + 1, lineBreak);
  }
  return trailing;
}

function digitsEnd(text: string, from: number): number {
  let end = from;
  for (let count = 0; count < 3 && end < text.length && (classAt(text, end) & digit) !== 0; count += 1) {
    end += widthAt(text, end);
  }
  return end;
}

/** White space up to its last line break; else all but the last character, which belongs to what follows. */
function spaceEnd(text: string, from: number): number {
  const end = runEnd(text, from, space);
  const run = text.slice(from, end);
  const lastBreak = Math.max(run.lastIndexOf("\n"), run.lastIndexOf("\r"));
  if (lastBreak >= 0) {
    return from + lastBreak + 1;
  }
  return end < text.length && end - from > 1 ? end - 1 : end;
}
