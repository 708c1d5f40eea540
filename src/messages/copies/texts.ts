import { type Block, isTextBlock } from "../content.js";
import { isRecord, stringIn, type Fields, valueIn } from "../values.js";
import { mapSame, type PiecesEdit, withFields } from "./edits.js";

/** True for a block that holds text of the message, and no thought. */
function isText(block: unknown): boolean {
  if (typeof block === "string") {
    return true;
  }
  return (
    isRecord(block) && isTextBlock(block as Block) && block["thought"] !== true && typeof block["text"] === "string"
  );
}

function textIn(block: unknown): string {
  return typeof block === "string" ? block : (stringIn((block as Fields)["text"]) ?? "");
}

/**
 * An edit of pieces of text by a function from text to text, which sees the whole text: a pattern may span pieces.
 * Pieces keep their places if each changes by itself to the same effect; else the first holds the new text.
 */
export function piecesBy(change: (text: string) => string): PiecesEdit {
  return (pieces) => {
    const whole = pieces.join("");
    const changed = whole === "" ? "" : change(whole);
    if (changed === whole) {
      return pieces;
    }
    const each = pieces.map((piece) => (piece === "" ? "" : change(piece)));
    const made = each.join("") === changed ? each : pieces.map((_, index) => (index === 0 ? changed : ""));
    return made.map((text, index) => (text === "" && pieces[index] !== "" ? undefined : text));
  };
}

/** The text blocks of several lists, as one text; each list stays the same if its blocks do. */
export function editTexts(lists: readonly (readonly unknown[])[], edit: PiecesEdit): readonly (readonly unknown[])[] {
  const pieces = lists.flatMap((list) => list.filter(isText).map(textIn));
  if (pieces.length === 0) {
    return lists;
  }
  const changed = edit(pieces);
  let place = 0;
  return mapSame(lists, (list) => [
    mapSame(list, (block) => {
      if (!isText(block)) {
        return [block];
      }
      const text = changed[place++];
      return text === undefined ? [] : [withText(block, text)];
    }),
  ]);
}

/** Keys of a text block that repeat its text, or point to places in it. */
function withText(block: unknown, text: string): unknown {
  if (typeof block === "string" || textIn(block) === text) {
    return typeof block === "string" ? text : block;
  }
  const fields = block as Fields;
  const annotations = Array.isArray(fields["annotations"])
    ? { annotations: fields["annotations"].filter((annotation) => !pointsIntoText(annotation)) }
    : {};
  const parsed = "parsed" in fields ? { parsed: valueIn(text) } : {};
  return withFields(fields, { text, ...annotations, ...parsed, logprobs: undefined });
}

function pointsIntoText(annotation: unknown): boolean {
  return isRecord(annotation) && [annotation["start_index"], annotation["startIndex"]].some(Number.isInteger);
}

/** A text that is one piece; undefined if it is removed. */
export function editText(text: string, edit: PiecesEdit): string | undefined {
  return edit([text])[0];
}
