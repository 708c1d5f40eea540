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
