import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";

/** A message in one line: type, name, calls or answered call, and content, as `ai(c1, c2): text`. */
export function sketch(message: BaseMessage): string {
  const { content } = message;
  const text =
    typeof content === "string"
      ? content
      : content.map((block) => (block.type === "text" ? String(block["text"]) : `<${block.type}>`)).join("|");
  const { tool_calls: calls = [], invalid_tool_calls: invalid = [] } = message as AIMessage;
  const ids =
    message.getType() === "tool"
      ? [(message as ToolMessage).tool_call_id]
      : [...calls, ...invalid.map(({ id }) => ({ id: `${id}!` }))].map(({ id }) => id);
  return `${message.getType()}${ids.length > 0 ? `(${ids.join(", ")})` : ""}: ${text}`;
}
