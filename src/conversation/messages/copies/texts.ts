import { type Block, blockText, isTextBlock } from "../content.js";
import { isRecord, type Fields } from "../values.js";
import { withFields } from "./edits.js";

/** True for an element that holds text of the message, and no thought. */
function isText(element: unknown): boolean {
  const isOwn = (block: Block) => isTextBlock(block) && block["thought"] !== true && typeof block["text"] === "string";
  return typeof element === "string" || (isRecord(element) && isOwn(element as Block));
}

/**
 * A list with the texts of its blocks changed by a function that sees the whole text, because a pattern may span
 * blocks; the same list if they stay. Texts keep their places if each changes by itself to the same effect; else the
 * first one is the new text. One of which nothing is left goes.
 */
export function changeTexts(list: readonly unknown[], change: (text: string) => string): readonly unknown[] {
  const whole = list.map(blockText).join("");
  const changed = whole === "" ? "" : change(whole);
  if (changed === whole) {
    return list;
  }
  const each = list.map((element) => blockText(element) && change(blockText(element)));
  const isEach = each.join("") === changed;
  const first = list.findIndex(isText);
  return list.flatMap((element, place) => {
    const text = isEach ? each[place]! : place === first ? changed : "";
    const isGone = text === "" && blockText(element) !== "";
    const made = () => (typeof element === "string" ? text : withFields(element as Fields, { text }));
    return !isText(element) ? [element] : isGone ? [] : [made()];
  });
}
