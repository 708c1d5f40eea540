import { AIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { copyWith } from "./change-message.js";
import { refusedKey, type RefusedMark, refusedMarkOf, roleOf } from "./roles.js";

// A request that a provider refused for good: the mark behind its question, and what models see of both.

/** The message that marks a refused request: an answer without text, stored in the turn of its question. */
export function refusedMark(mark: RefusedMark): AIMessage {
  return new AIMessage({ content: "", response_metadata: { [refusedKey]: mark } });
}

const refusedResult = "(The model's provider refused to read this result.)";

/**
 * A conversation in its order as models see it: without marks, and without the questions that they name; tool results
 * that they name keep their place, with a note. A mark with an answer directly behind it names nothing of its turn,
 * because a retry succeeded. Returns the same list where there is no mark. Linear.
 */
export function withoutRefused<T>(
  list: readonly T[],
  messageOf: (element: T) => BaseMessage,
  noted: (element: T, note: ToolMessage) => T,
): readonly T[] {
  const marks = list.map((element) => refusedMarkOf(messageOf(element)));
  if (!marks.some((mark) => mark !== undefined)) {
    return list;
  }
  const isAnswered = (index: number) => {
    const next = list.slice(index + 1, index + 2).map((element) => roleOf(messageOf(element)));
    return marks[index + 1] === undefined && (next[0] === "ai" || next[0] === "tool");
  };
  const idsIn = (mark: RefusedMark, index: number) => [...(mark.before ?? []), ...(isAnswered(index) ? [] : mark.ids)];
  const hidden = new Set(marks.flatMap((mark, index) => (mark === undefined ? [] : idsIn(mark, index))));
  return list.flatMap((element, index) => {
    const message = messageOf(element);
    if (marks[index] !== undefined || (hidden.has(message.id ?? "") && roleOf(message) === "human")) {
      return [];
    }
    return hidden.has(message.id ?? "") && roleOf(message) === "tool"
      ? [noted(element, copyWith(message as ToolMessage, { content: refusedResult }))]
      : [element];
  });
}
