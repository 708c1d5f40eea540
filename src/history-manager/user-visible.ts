import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../messages/calls.js";
import { textOf } from "../messages/content.js";
import { roleOf } from "../messages/roles.js";

/**
 * Returns what a user sees of messages: what both sides said, without tool calls, tool results, instructions and
 * summaries.
 */
export function userVisible(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.flatMap((message) => {
    const role = roleOf(message);
    if (role === "human") {
      return [message];
    }
    return role === "ai" && (callsOf(message).length === 0 || textOf(message).trim() !== "")
      ? [withoutCalls(message)]
      : [];
  });
}

function withoutCalls(message: BaseMessage): BaseMessage {
  if (callsOf(message).length === 0) {
    return message;
  }
  const { id, name } = message;
  return new AIMessage({
    content: textOf(message),
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
  });
}
