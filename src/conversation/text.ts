import type { BaseMessage } from "@langchain/core/messages";

/** The text of a message: its string content, or its text parts joined. Calls, images and reasoning are not text. */
export function textOf(message: BaseMessage): string {
  const { content } = message;
  if (typeof content === "string") {
    return content;
  }
  if (!Array.isArray(content)) {
    return "";
  }
  return content.map((part) => (part.type === "text" && typeof part.text === "string" ? part.text : "")).join("");
}
