import type { ToolMessage } from "@langchain/core/messages";
import { graphemeBoundary } from "../../../base/graphemes.js";
import { textOf } from "../../../conversation/messages/content.js";
import { fieldsOf, valueIn } from "../../../conversation/messages/message.js";
import type { SourceReference } from "../stored/references.js";

/**
 * Cuts a text after about `characters` characters and appends a note that says how much is shown. Returns a text that
 * is no longer than that unchanged.
 */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) {
    return text;
  }
  const [, length = text.length] = cutNote.exec(text) ?? [];
  const shown = graphemeBoundary(text, characters);
  return `${text.slice(0, shown)}\n[Cut: the first ${shown} of ${length} characters are shown.]`;
}

/** Ends a text that was cut before. */
const cutNote = /\n\[Cut: the first \d+ of (\d+) characters are shown\.\]$/;

/** A text is not cut to fewer characters than this; it is left out instead. */
const leastCharacters = 200;
/** The note about a cut is at most as long. */
const noteCharacters = 80;

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

/** The parts of results that stay as long as they can. */
export interface KeptOfResults {
  /** Numbers of cited sources. */
  readonly cited: ReadonlySet<number>;
  /** Reminders at the end of results, by call id. */
  readonly reminders: ReadonlyMap<string, string>;
}

/**
 * The text of a result in at most about `characters`: fewer sources, the beginning of a text, or a note. A reminder
 * stays whole, and so does the beginning of a failure: without it the model would call the tool again.
 */
export function shorterResult(message: ToolMessage, characters: number, { cited, reminders }: KeptOfResults): string {
  const text = textOf(message);
  const sources = cutSources(text, { characters, cited, keepsCited: characters > 0 });
  if (sources !== undefined || text.length <= characters) {
    return sources ?? text;
  }
  const reminder = reminders.get(message.tool_call_id);
  const ending = reminder !== undefined && text.endsWith(`\n\n${reminder}`) ? `\n\n${reminder}` : "";
  const room = characters - ending.length - noteCharacters;
  if (room < leastCharacters && message.status !== "error") {
    return `[Result omitted: it does not fit the context window.]${ending}`;
  }
  return cutText(text.slice(0, text.length - ending.length), Math.max(room, leastCharacters)) + ending;
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

/** How much of sources stays. */
interface SourcesToKeep extends Pick<KeptOfResults, "cited"> {
  readonly characters: number;
  /** True where cited sources, or the beginning of the first one, stay whatever their length. */
  readonly keepsCited?: boolean;
}

/**
 * Cuts a text of {@link sourcesText} to at most about `characters`: cited sources stay longest, then those that were
 * found first; a first one that does not fit is cut. The text behind the sources stays. Undefined for others.
 */
export function cutSources(text: string, { characters, cited, keepsCited = false }: SourcesToKeep): string | undefined {
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
  const bySource = new Map<ShownSource, ShownSource>();
  for (const source of sources.toSorted((a, b) => rankOf(b, cited) - rankOf(a, cited))) {
    const excess = JSON.stringify(source).length + 1 - left;
    const isWhole = excess <= 0 || (keepsCited && cited.has(source.source_number));
    const room = source.content.length - excess - noteCharacters;
    if (!isWhole && (bySource.size > 0 || (room < leastCharacters && !keepsCited))) {
      break;
    }
    const content = isWhole ? source.content : cutText(source.content, Math.max(room, leastCharacters));
    bySource.set(source, { ...source, content });
    left = -excess;
  }
  const shown = sources.flatMap((source) => bySource.get(source) ?? []);
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
