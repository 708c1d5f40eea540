import { graphemeBoundary } from "../../text/graphemes.js";

/**
 * The text up to about so many characters, and a statement of how much that is of the whole; the text itself where it
 * is no longer than that.
 */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) {
    return text;
  }
  const shown = graphemeBoundary(text, characters);
  return `${text.slice(0, shown)}\n[Cut: the first ${shown} of ${text.length} characters are shown.]`;
}

/** Characters below which a text is left out rather than cut. */
const leastCharacters = 200;

/**
 * Descending lengths to cut a text of `length` characters to, each four fifths of the one before, none below 200. They
 * do not depend on any window, so that the first that fits is never longer in a smaller window.
 */
export function lengthsBelow(length: number): number[] {
  const shorter = (longer: number) => Math.floor(longer * 0.8);
  const lengths: number[] = [];
  for (let next = shorter(length); next >= leastCharacters; next = shorter(next)) {
    lengths.push(next);
  }
  return lengths;
}

/** Descending numbers of pieces to keep out of `from`, by a tenth and by one at least, down to `least`. */
export function countsBelow({ from, least }: { readonly from: number; readonly least: number }): number[] {
  const counts: number[] = [];
  for (let count = from; count > least;) {
    count = Math.max(least, count - Math.max(1, Math.floor(count / 10)));
    counts.push(count);
  }
  return counts;
}
