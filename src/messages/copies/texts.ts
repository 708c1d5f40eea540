import { type Block, isTextBlock } from "../content.js";
import { isRecord, stringIn, type Fields } from "../values.js";
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

/** A list with the texts of its blocks changed; the same list if they stay. */
export function editTexts(list: readonly unknown[], edit: PiecesEdit): readonly unknown[] {
  const pieces = list.filter(isText).map(textIn);
  const changed = pieces.length === 0 ? pieces : edit(pieces);
  let place = 0;
  return mapSame(list, (block) => {
    if (!isText(block)) {
      return [block];
    }
    const text = changed[place++];
    const own = typeof block === "string" || text === undefined ? text : withFields(block as Fields, { text });
    return own === undefined ? [] : [own];
  });
}
