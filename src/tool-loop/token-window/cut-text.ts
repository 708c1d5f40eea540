import { graphemeBoundary } from "../../base/graphemes.js";

/**
 * Cuts a text after about `characters` characters and appends a note that says how much is shown. Returns a text that
 * is no longer than that unchanged.
 */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) {
    return text;
  }
  const shown = graphemeBoundary(text, characters);
  return `${text.slice(0, shown)}\n[Cut: the first ${shown} of ${text.length} characters are shown.]`;
}

/** A text is not cut to fewer characters than this; it is left out instead. */
const leastCharacters = 200;

/**
 * Returns descending lengths to cut a text of `length` characters to, each four fifths of the previous one, none below
 * 200. They do not depend on the window, so the first that fits is never longer in a smaller window.
 */
export function lengthsBelow(length: number): number[] {
  const shorter = (longer: number) => Math.floor(longer * 0.8);
  const lengths: number[] = [];
  for (let next = shorter(length); next >= leastCharacters; next = shorter(next)) {
    lengths.push(next);
  }
  return lengths;
}

/** Returns descending numbers of pieces to keep out of `from`, in steps of a tenth (at least one), down to `least`. */
export function countsBelow({ from, least }: { readonly from: number; readonly least: number }): number[] {
  const counts: number[] = [];
  for (let count = from; count > least;) {
    count = Math.max(least, count - Math.max(1, Math.floor(count / 10)));
    counts.push(count);
  }
  return counts;
}
