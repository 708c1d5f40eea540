import { graphemeBoundary } from "../../base/graphemes.js";
import { fieldsOf, valueIn } from "../../messages/values.js";
import type { SourceReference } from "../stored/reference-manager.js";

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

/** A source as the model reads it. */
interface ShownSource {
  readonly source_number: number;
  readonly content_id: string;
  readonly content: string;
}

/** Renders sources for the model: a JSON array of `{ source_number, content_id, content }`. */
export function sourcesText(sources: readonly SourceReference[]): string {
  return JSON.stringify(
    sources.map(({ sourceNumber, chunk }): ShownSource => {
      return { source_number: sourceNumber, content_id: chunk.id, content: chunk.text };
    }),
  );
}

/**
 * Cuts a text of {@link sourcesText} to at most about `characters`: cited sources stay longest, then those that were
 * found first; a first one that does not fit is cut. The text behind the sources stays. Undefined for others.
 */
export function cutSources(
  text: string,
  { characters, cited }: { readonly characters: number; readonly cited: ReadonlySet<number> },
): string | undefined {
  const end = text.indexOf("\n");
  const [json, rest] = end < 0 ? [text, ""] : [text.slice(0, end), text.slice(end)];
  const sources = json.startsWith("[{") ? valueIn(json) : undefined;
  if (!Array.isArray(sources) || !sources.every(isShownSource)) {
    return undefined;
  }
  if (text.length <= characters) {
    return text;
  }
  let left = characters - rest.length;
  const kept = new Map<ShownSource, ShownSource>();
  for (const source of sources.toSorted((a, b) => rankOf(b, cited) - rankOf(a, cited))) {
    const size = JSON.stringify(source).length + 1;
    const room = source.content.length - (size - left);
    if (size > left && (kept.size > 0 || room < leastCharacters)) {
      break;
    }
    kept.set(source, size > left ? { ...source, content: cutText(source.content, room) } : source);
    left -= size;
  }
  const shown = sources.flatMap((source) => kept.get(source) ?? []);
  const body =
    shown.length > 0
      ? JSON.stringify(shown)
      : `[${sources.length} sources omitted: they do not fit the context window.]`;
  return body + rest;
}

const rankOf = ({ source_number }: ShownSource, cited: ReadonlySet<number>) => (cited.has(source_number) ? 1 : 0);

function isShownSource(value: unknown): value is ShownSource {
  const { source_number: number, content_id: id, content } = fieldsOf(value);
  return typeof number === "number" && typeof id === "string" && typeof content === "string";
}
