/** Code units before a cut among which a place to begin looking is sought; a longer run that forms one character is odd input. */
const lookBehind = 256;

/** Characters that never join their neighbour of the same kind: printable ASCII, kana and CJK ideographs. */
const plain = /[\x20-\x7e\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]/;

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * The largest length of at most `length` at which a text can be cut without splitting what a reader sees as one character (a letter with its
 * accents, a flag, a family). A character of more than 256 code units is cut between its code points. Cost does not depend on the text's length.
 */
export function graphemeBoundary(text: string, length: number): number {
  if (length <= 0 || length >= text.length) {
    return Math.max(0, Math.min(length, text.length));
  }
  const oldest = Math.max(0, length - lookBehind);
  let from = length;
  while (from > oldest && !(plain.test(text[from - 1]!) && plain.test(text[from]!))) {
    from -= 1;
  }
  if (from === length) {
    return length;
  }
  let boundary = from;
  for (const { index } of segmenter.segment(text.slice(from, length + 2))) {
    boundary = from + index <= length ? from + index : boundary;
  }
  return boundary > from || from > oldest || oldest === 0 ? boundary : codePointBoundary(text, length);
}

function codePointBoundary(text: string, length: number): number {
  const before = text.charCodeAt(length - 1);
  const after = text.charCodeAt(length);
  const splitsPair = before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
  return splitsPair ? length - 1 : length;
}
