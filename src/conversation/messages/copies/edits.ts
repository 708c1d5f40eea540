import type { BaseMessage } from "@langchain/core/messages";
import { inForm } from "../change-message.js";
import { type Block, blocksOf, contentOf } from "../content.js";
import type { Fields } from "../values.js";

/**
 * Change of a call: new values, `remove`, or none (undefined). An object as arguments makes an unreadable call
 * readable; a text replaces the text of unreadable arguments.
 */
export type CallChange =
  | {
      /** New id. Rename the tool message that answers the call too. */
      readonly id?: string;
      /** New name of the tool. */
      readonly name?: string;
      /** New arguments. */
      readonly args?: Record<string, unknown> | string;
    }
  | "remove"
  | undefined;

/** A list with each element changed, removed (none) or multiplied; the same list if all stay the same. */
export function mapSame<T>(list: readonly T[], change: (element: T, index: number) => readonly T[]): readonly T[] {
  let isSame = true;
  const changed = list.flatMap((element, index) => {
    const made = change(element, index);
    isSame &&= made.length === 1 && made[0] === element;
    return made;
  });
  return isSame ? list : changed;
}

/** The message with each block changed, removed (none) or multiplied, for a model; itself if all stay the same. */
export function mapBlocks(message: BaseMessage, change: (block: Block) => readonly Block[]): BaseMessage {
  const blocks = blocksOf(message);
  const changed = mapSame(blocks, change);
  return changed === blocks ? message : inForm(message, { content: contentOf(changed) });
}

/** True if the lists hold the same elements in the same order. */
export function sameElements(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((element, index) => element === b[index]);
}

/** The record with other values, or itself if they are the same; undefined removes a key. */
export function withFields<T extends Fields>(record: T, values: Fields): T {
  const changed = Object.entries(values).filter(([key, value]) => record[key] !== value);
  if (changed.length === 0) {
    return record;
  }
  const copy: Record<string, unknown> = { ...record };
  for (const [key, value] of changed) {
    if (value === undefined) {
      delete copy[key];
    } else {
      copy[key] = value;
    }
  }
  return copy as T;
}
