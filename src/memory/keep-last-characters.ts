/** How far back a safe place to begin looking for grapheme boundaries is sought, in UTF-16 units. */
const lookBehind = 10_000;

/** Letters that always stand alone between two of their kind (Unicode grapheme rule GB999): Latin, Cyrillic, kana, CJK, digits, punctuation. */
const standsAlone = /[\x20-\x7e\u00c0-\u024f\u0410-\u044f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]/;

/** Number of Unicode code points. */
export function lengthOf(text: string): number {
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    length += isSecondHalf(text, index) ? 0 : 1;
  }
  return length;
}

/**
 * The end of a text: at most `limit` code points, never beginning inside a grapheme (a letter with its accents, an emoji with its modifiers).
 * Linear in `limit`, whatever the length of the text.
 */
export function keepLastCharacters(text: string, limit: number): string {
  let cut = text.length;
  for (let kept = 0; kept < limit && cut > 0; kept += 1) {
    cut -= cut >= 2 && isSecondHalf(text, cut - 1) ? 2 : 1;
  }
  return cut === 0 ? text : text.slice(nextBoundary(text, cut));
}

function isSecondHalf(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  const before = text.charCodeAt(index - 1);
  return unit >= 0xdc00 && unit <= 0xdfff && before >= 0xd800 && before <= 0xdbff;
}

/** The first grapheme boundary at or after `cut`. */
function nextBoundary(text: string, cut: number): number {
  if (cut >= text.length || isSafe(text, cut)) {
    return cut;
  }
  let from = cut - 1;
  const oldest = Math.max(0, cut - lookBehind);
  while (from > oldest && !isSafe(text, from)) {
    from -= 1;
  }
  from -= isSecondHalf(text, from) ? 1 : 0;
  const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text.slice(from));
  for (const { index } of graphemes) {
    if (from + index >= cut) {
      return from + index;
    }
  }
  return text.length;
}

function isSafe(text: string, index: number): boolean {
  return index === 0 || (standsAlone.test(text[index - 1]!) && standsAlone.test(text[index]!));
}
