/**
 * A part of a record's text: text that stands in the record, or what stands in items of the thread: one long value, or
 * the elements of a list.
 */
export type Segment = string | { readonly item: string } | { readonly list: readonly string[] };

/**
 * The key of an object that stands for what is stored elsewhere. A value with such a key becomes an item. In records of
 * messages the key marks values that JSON cannot express: `tagKey`.
 */
export const referenceKey = "$lcmem";

/** Characters up to which a value stands in the record itself. */
const mostInline = 200;
/** Characters that the elements of a list have on average, where it is stored element by element. */
const leastElement = 64;

/** The text of a value, or the segments of one of which a part is stored in items. */
type Part = { readonly text: string; readonly stays: boolean } | { readonly segments: readonly Segment[] };

/** The origin of a value. */
export interface SplitSetting {
  /** True for what a task wrote: a message in it may lack the id that it gets in the state, and stays in the record. */
  readonly isWrite: boolean;
}

/**
 * Splits a JSON value into the text of a record and items: the elements of long lists, and other long values.
 *
 * Independent of channels and ids: equal texts are stored once. LangChain's objects are never split, and items contain
 * no references.
 */
export function splitValue(value: unknown, setting: SplitSetting): Segment[] {
  return outside(partOf(value, setting));
}

function partOf(value: unknown, setting: SplitSetting): Part {
  if (typeof value !== "object" || value === null) {
    return { text: JSON.stringify(value), stays: false };
  }
  if (Array.isArray(value)) {
    return ofArray(value.map((element) => partOf(element, setting)));
  }
  // First, as a reader does: a value that looks like one of LangChain's objects as well would be read as a reference.
  if (Object.hasOwn(value, referenceKey)) {
    return { segments: [{ item: JSON.stringify(value) }] };
  }
  if (Object.hasOwn(value, "lc") && !isSnapshot(value)) {
    return { text: JSON.stringify(value), stays: setting.isWrite && isMessageWithoutId(value) };
  }
  return ofObject(Object.entries(value).map(([name, field]) => [name, partOf(field, setting)]));
}

function ofArray(parts: readonly Part[]): Part {
  const texts = parts.flatMap((part) => ("text" in part ? part.text : []));
  if (texts.length < parts.length) {
    return { segments: ["[", ...separated(parts.map(outside)), "]"] };
  }
  const length = texts.reduce((sum, text) => sum + text.length + 1, 1);
  const stays = parts.some((part) => "text" in part && part.stays);
  const isList = length > mostInline && length >= leastElement * texts.length && !stays;
  return isList ? { segments: [{ list: texts }] } : { text: `[${texts.join(",")}]`, stays };
}

function ofObject(fields: readonly (readonly [string, Part])[]): Part {
  if (fields.some(([, part]) => "segments" in part)) {
    const written = fields.map(([name, part]) => [`${JSON.stringify(name)}:`, ...outside(part)]);
    return { segments: ["{", ...separated(written), "}"] };
  }
  const texts = fields.map(([name, part]) => `${JSON.stringify(name)}:${"text" in part ? part.text : ""}`);
  return { text: `{${texts.join(",")}}`, stays: fields.some(([, part]) => "text" in part && part.stays) };
}

/** A part beside references, or at the top: what is long becomes an item. */
function outside(part: Part): Segment[] {
  if ("segments" in part) {
    return [...part.segments];
  }
  return [part.text.length > mostInline && !part.stays ? { item: part.text } : part.text];
}

function separated(lists: readonly (readonly Segment[])[]): Segment[] {
  return lists.flatMap((list, index) => (index === 0 ? list : [",", ...list]));
}

/** True for the whole value of a channel that otherwise stores changes; it may be a list. */
function isSnapshot(value: object): boolean {
  return "type" in value && value.type === "delta_snapshot" && "value" in value && Object.keys(value).length === 3;
}

function isMessageWithoutId(value: object): boolean {
  const { id, kwargs } = value as { readonly id?: unknown; readonly kwargs?: { readonly id?: unknown } };
  return Array.isArray(id) && id[1] === "messages" && typeof kwargs?.id !== "string";
}

/** Runs of positions in the text of one list; more of them are put into items of their own. */
const groupLength = 32;

/** Positions that follow each other; below 0, the items of the call itself: -1 is its first. */
interface Run {
  readonly from: number;
  readonly to: number;
}

/**
 * Positions of items as text: `0-5,9,+0-2`. Numbers with a `+` count from the record's base. Where there are many runs,
 * the first ones stand by 32 in items, `@7`, which later versions of the list share: `itemOf` gives the position of the
 * item with a text.
 */
export function rangesText(positions: readonly number[], itemOf: (text: string) => number): string {
  const runs = runsOf(positions);
  const groups: number[] = [];
  let grouped = 0;
  for (; runs.length - grouped > groupLength; grouped += groupLength) {
    const group = runs.slice(grouped, grouped + groupLength);
    if (group.some(({ from }) => from < 0)) {
      break;
    }
    groups.push(itemOf(group.map(runText).join(",")));
  }
  return [...runsOf(groups).map((run) => `@${runText(run)}`), ...runs.slice(grouped).map(runText)].join(",");
}

/**
 * Reads the text of {@link rangesText}, position by position; `textAt` gives the text of an item, and throws where
 * there is none. Items hold runs only: in one that was changed, what names further items is read as a run.
 */
export function* positionsIn(ranges: string, base: number, textAt: (position: number) => string): Generator<number> {
  for (const [, group, plus, first, last] of ranges.matchAll(/(@?)(\+?)(\d+)(?:-(\d+))?/g)) {
    const start = plus === "+" ? base : 0;
    const to = Number(last ?? first) + start;
    for (let position = Number(first) + start; position <= to; position += 1) {
      if (group === "@") {
        yield* positionsIn(textAt(position).replaceAll("@", ""), 0, textAt);
      } else {
        yield position;
      }
    }
  }
}

function runsOf(positions: readonly number[]): Run[] {
  const runs: { from: number; to: number }[] = [];
  for (const position of positions) {
    const last = runs.at(-1);
    const follows = last !== undefined && position === (last.from < 0 ? last.to - 1 : last.to + 1);
    if (follows && position < 0 === last.from < 0) {
      last.to = position;
    } else {
      runs.push({ from: position, to: position });
    }
  }
  return runs;
}

function runText({ from, to }: Run): string {
  const [first, last] = from < 0 ? [-1 - from, -1 - to] : [from, to];
  return `${from < 0 ? "+" : ""}${first}${first === last ? "" : `-${last}`}`;
}
