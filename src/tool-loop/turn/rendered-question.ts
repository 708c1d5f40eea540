import type { BaseMessage } from "@langchain/core/messages";
import { blockText, isTextBlock, textBlock, type Block } from "../../messages/content.js";
import { changeContent } from "../../messages/copies/change-content.js";
import { roleOf } from "../../messages/roles.js";

/** True for a user's message whose text begins with the original one, with nothing or white space behind it. */
export function isQuestion(message: BaseMessage | undefined, original: string | undefined): message is BaseMessage {
  return (
    message !== undefined &&
    original !== undefined &&
    roleOf(message) === "human" &&
    withoutOriginal(message.content, original) !== undefined
  );
}

/**
 * The stored question as the model reads it: the rendered text takes the place of the original one, and the rest stays.
 * If the message does not begin with the original text, the rendered text replaces all text.
 */
export function renderQuestion(
  message: BaseMessage,
  { original, rendered }: { readonly original: string; readonly rendered: string },
): BaseMessage {
  const { content } = message;
  const rest = withoutOriginal(content, original);
  if (typeof content === "string") {
    return changeContent(message, rendered + (rest === undefined ? "" : rest.text));
  }
  const parts = rest?.parts ?? content.filter((part) => !isText(part));
  const place = rest?.place ?? 0;
  const replaced = textBlock(rendered + (rest?.text ?? ""));
  return changeContent(message, [...parts.slice(0, place), replaced, ...parts.slice(place)]);
}

/** The rest behind the original text: the text that follows it in its part, and the other parts. */
interface Remainder {
  readonly text: string;
  readonly parts: readonly Block[];
  /** Index among `parts` of the part that held the original text. */
  readonly place: number;
}

/** Undefined where the content does not begin with the text. Parts of one text need not end where the original does. */
function withoutOriginal(content: BaseMessage["content"], original: string): Remainder | undefined {
  const all = typeof content === "string" ? [textBlock(content)] : (content as Block[]);
  const place = all.findIndex(isText);
  if (place < 0) {
    return original === "" ? { text: "", parts: all, place: 0 } : undefined;
  }
  let left = original;
  const parts = [...all.slice(0, place)];
  for (const [offset, part] of all.slice(place).entries()) {
    const text = isText(part) ? blockText(part) : undefined;
    if (text === undefined) {
      parts.push(part);
    } else if (text.length < left.length && left.startsWith(text)) {
      left = left.slice(text.length);
    } else {
      const rest = text.startsWith(left) ? text.slice(left.length) : undefined;
      const isWhole = rest !== undefined && (rest === "" || (original !== "" && /^\s/.test(rest)));
      return isWhole ? { text: rest, parts: [...parts, ...all.slice(place + offset + 1)], place } : undefined;
    }
  }
  return undefined;
}

function isText(part: unknown): boolean {
  return typeof part === "string" || isTextBlock(part as Block);
}
