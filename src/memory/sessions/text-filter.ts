/** A text without the differences of case and of composed characters. */
export function foldedText(text: string): string {
  return (isASCII(text) ? text : text.normalize("NFKC")).toUpperCase();
}

/**
 * A test of records that is false for most of those whose message does not contain all of the texts, which are folded,
 * and true for each whose message does: decoding all records takes three times as long. Encrypted records hide theirs.
 */
export function textFilter(texts: readonly string[]): (record: string) => boolean {
  const shown = texts.map((text) => JSON.stringify(text).slice(1, -1));
  const patterns = shown.map((text) => new RegExp(text.replace(/[^\w\s]/gu, inPattern), "i"));
  // Not folded again: parts of a capital letter would be composed.
  const folded = shown.map((text) => text.toUpperCase());
  const isASCIIOnly = texts.every(isASCII);
  // Compatible forms of these two, which records hold as they are, are the same characters when they are folded.
  const isQuoted = texts.some((text) => /["\\]/.test(text));
  const mayShow = (record: string) => {
    if (isASCII(record)) {
      return isASCIIOnly && patterns.every((pattern) => pattern.test(record));
    }
    const text = foldedText(record).replaceAll("\\/", "/");
    return isQuoted || composedWithEscape.test(record) || folded.every((each) => text.includes(each));
  };
  // The test that decides for most comes first.
  return (record) => mayShow(record) || record.includes("\\u") || mayGoOverParts(record);
}

/** By its bytes, which takes a tenth of the time of a regular expression. */
const isASCII = (text: string) => Buffer.byteLength(text) === text.length;

/** A slash may be stored escaped. */
const inPattern = (character: string) =>
  character === "/" ? "\\\\?/" : isASCII(character) ? `\\${character}` : character;

/** The letter of an escape, and what may be one character with it. */
const composedWithEscape = /\\[bfnrt][^\u0000-\u007f]/;

/** How the records of messages begin whose content is one text. */
const oneText = /^\{"type":"\w+","data":\{"content":"/;
const list = /"content(?:_blocks)?"\s*:\s*\[/;
/** A list that holds something besides objects, such as texts without a type. */
const bare = /"content(?:_blocks)?"\s*:\s*\[\s*[^{\s\]]|\}\s*,\s*(?:[^{"\s]|"(?:[^"\\]|\\.)*"\s*[,\]])/;

/** True if a text may begin in one part of the content and end in another, so that the record shows it nowhere. */
function mayGoOverParts(record: string): boolean {
  // A part has two: its type and its text.
  return !oneText.test(record) && list.test(record) && (record.split('"text"', 4).length > 3 || bare.test(record));
}
