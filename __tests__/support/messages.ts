import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";

/** What the user said. */
export function human(text: string, id?: string): HumanMessage {
  return new HumanMessage(id === undefined ? { content: text } : { content: text, id });
}

/** What the model said, calling the tool `lookup` once for each of `calls` (their ids). */
export function ai(
  text: string,
  { calls = [], id }: { readonly calls?: readonly string[]; readonly id?: string } = {},
): AIMessage {
  const toolCalls = calls.map((callId) => ({
    type: "tool_call" as const,
    id: callId,
    name: "lookup",
    args: { query: callId },
  }));
  return new AIMessage({ content: text, tool_calls: toolCalls, ...(id === undefined ? {} : { id }) });
}

/** An AI message without text that calls the tool `lookup`, once for each id. */
export function aiCalls(...callIds: readonly string[]): AIMessage {
  return ai("", { calls: callIds });
}

/** The result of the call `callId`. */
export function tool(callId: string, text = `result of ${callId}`): ToolMessage {
  return new ToolMessage({ content: text, tool_call_id: callId, name: "lookup" });
}

/** An instruction to the model. */
export function system(text: string): SystemMessage {
  return new SystemMessage({ content: text });
}
