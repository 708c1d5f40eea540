import {
  classAt,
  digit,
  lineBreak,
  lowercase,
  mark,
  otherLetter,
  runEnd,
  space,
  symbol,
  uppercase,
  widthAt,
} from "./character-classes.js";

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
