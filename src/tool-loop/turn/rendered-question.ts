import type { BaseMessage } from "@langchain/core/messages";
import { blockText, isTextBlock, textBlock, type Block } from "../../messages/content.js";
import { changeContent } from "../../messages/copies/change-content.js";
import { roleOf } from "../../messages/roles.js";

/** True for a user's message whose first text begins with the original one, with nothing or white space behind it. */
export function isQuestion(message: BaseMessage | undefined, original: string | undefined): message is BaseMessage {
  return (
    message !== undefined &&
    original !== undefined &&
    roleOf(message) === "human" &&
    restBehind(original, message.content) !== undefined
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
  const rest = restBehind(original, content);
  const text = rendered + (rest ?? "");
  if (typeof content === "string") {
    return changeContent(message, text);
  }
  const first = content.findIndex(isText);
  const kept = content.filter((part, index) => index !== first && (rest !== undefined || !isText(part)));
  const place = rest === undefined ? 0 : Math.max(0, first);
  return changeContent(message, [...kept.slice(0, place), textBlock(text), ...kept.slice(place)]);
}

/** The first text of a content behind the original one; undefined where it does not begin with that. */
function restBehind(original: string, content: BaseMessage["content"]): string | undefined {
  const parts: readonly unknown[] = typeof content === "string" ? [content] : content;
  const first = parts.find(isText);
  const text = typeof first === "string" ? first : first === undefined ? "" : blockText(first as Block);
  const rest = text.startsWith(original) ? text.slice(original.length) : undefined;
  return rest === "" || (original !== "" && /^\s/.test(rest ?? "")) ? rest : undefined;
}

function isText(part: unknown): boolean {
  return typeof part === "string" || isTextBlock(part as Block);
}
