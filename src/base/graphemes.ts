/** Search range around a cut, in code units: longer than any real grapheme. */
const reach = 1_000;

/**
 * Characters that always have a grapheme boundary between them (Unicode rule GB999): printable ASCII, Latin and
 * Cyrillic letters, kana, CJK ideographs.
 */
const standsAlone = /[\x20-\x7e\u00c0-\u024f\u0410-\u044f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]/;

/** Made when first needed: the first segmenter of a process takes 15 ms. */
let segmenter: Intl.Segmenter | undefined;

/** Number of Unicode code points. */
export function lengthOf(text: string): number {
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    length += splitsPair(text, index) ? 0 : 1;
  }
  return length;
}

/**
 * The nearest grapheme boundary at or before `length`. A grapheme of more than 1,000 code units is cut between code
 * points. Constant time in the text's length.
 */
export function graphemeBoundary(text: string, length: number): number {
  if (length <= 0 || length >= text.length) {
    return Math.max(0, Math.min(length, text.length));
  }
  const { from, before } = boundariesAround(text, length);
  return before > from || from === 0 || isSafe(text, from) ? before : length - (splitsPair(text, length) ? 1 : 0);
}

/** The beginning of a text, at most `length` code units of whole graphemes. */
export function keepFirstUnits(text: string, length: number): string {
  return text.slice(0, graphemeBoundary(text, length));
}

/**
 * The last `limit` code points of a text at most, beginning at a grapheme boundary. Linear in `limit`, not in the
 * text's length.
 */
export function keepLastCharacters(text: string, limit: number): string {
  let cut = text.length;
  for (let count = 0; count < limit && cut > 0; count += 1) {
    cut -= splitsPair(text, cut - 1) ? 2 : 1;
  }
  return cut === 0 || cut === text.length ? text.slice(cut) : text.slice(boundariesAround(text, cut).after);
}

/** The nearest boundaries at or before and at or after an index, and the start of the search range. */
function boundariesAround(text: string, index: number): { from: number; before: number; after: number } {
  const from = safeStart(text, index);
  let before = from;
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { index: offset } of segmenter.segment(text.slice(from, index + reach))) {
    if (from + offset >= index) {
      return { from, before: from + offset === index ? index : before, after: from + offset };
    }
    before = from + offset;
  }
  const end = Math.min(text.length, index + reach);
  return { from, before, after: splitsPair(text, end) ? end + 1 : end };
}

function safeStart(text: string, index: number): number {
  let from = index;
  const oldest = Math.max(0, index - reach);
  while (from > oldest && !isSafe(text, from)) {
    from -= 1;
  }
  return splitsPair(text, from) ? from - 1 : from;
}

function isSafe(text: string, index: number): boolean {
  return standsAlone.test(text[index - 1] ?? "") && standsAlone.test(text[index] ?? "");
}

/** True if an index lies between the two halves of one code point. */
function splitsPair(text: string, index: number): boolean {
  const before = text.charCodeAt(index - 1);
  const after = text.charCodeAt(index);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
