import { graphemeBoundary } from "../conversation/graphemes.js";

/** The text up to about so many characters, and a statement of how much that is of the whole; the text itself where it is no longer than that. */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) {
    return text;
  }
  const shown = graphemeBoundary(text, characters);
  return `${text.slice(0, shown)}\n[Cut: the first ${shown} of ${text.length} characters are shown.]`;
}

/**
 * Descending lengths to cut a text of `from` characters to, each `ratio` of the one before, none below `least`. They do not depend on any window, so that
 * the first that fits is never longer in a smaller window.
 */
export function lengthsBelow({ from, least, ratio = 0.8 }: { readonly from: number; readonly least: number; readonly ratio?: number }): number[] {
  const lengths: number[] = [];
  for (let length = Math.floor(from * ratio); length >= least; length = Math.floor(length * ratio)) {
    lengths.push(length);
  }
  return lengths;
}

/** Descending numbers of pieces to keep out of `from`, by a tenth and by one at least, down to `least`. */
export function countsBelow({ from, least }: { readonly from: number; readonly least: number }): number[] {
  const counts: number[] = [];
  for (let count = from; count > least; ) {
    count = Math.max(least, count - Math.max(1, Math.floor(count / 10)));
    counts.push(count);
  }
  return counts;
}
