import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { recordsIn } from "../../messages/roles.js";
import { addContent } from "./content-cost.js";
import { CostSum, type Cost } from "./cost.js";

/** Tokens that a request costs besides its messages: the reply is primed with `<|start|>assistant<|message|>`. */
export const replyTokens = 3;

const tokensPerMessage = 3;
const tokensPerName = 1;
const tokensPerCall = 3;

const wireRoles: ReadonlyMap<string, string> = new Map([
  ["human", "user"],
  ["ai", "assistant"],
]);

interface Call {
  readonly id?: string;
  readonly name?: string;
  readonly args?: unknown;
}

/**
 * What a message costs by OpenAI's formula ("How to count tokens with tiktoken", OpenAI Cookbook): 3, and the tokens of
 * each value that the message carries (role, content, name), and 1 if it has a name.
 *
 * The formula is published for messages without tool calls. Its rule is kept for them: a call costs 3 (it is shown to
 * the model as a message of its own) and the tokens of its id, its name and its arguments as they go over the wire
 * (compact JSON); a tool result costs those of its `tool_call_id`. OpenAI may not show ids to the model: then the count
 * is above the bill, by some ten tokens a call.
 */
export function messageCost(message: BaseMessage): Cost {
  const sum = new CostSum();
  sum.tokens = tokensPerMessage;
  sum.addText(wireRole(message));
  if (typeof message.name === "string" && message.name !== "") {
    sum.tokens += tokensPerName;
    sum.addText(message.name);
  }
  const calls = callsOf(message);
  addContent(sum, message.content, { callsCounted: calls.length > 0 });
  for (const { id, name, args } of calls) {
    sum.tokens += tokensPerCall;
    sum.addText(id);
    sum.addText(name);
    sum.addValue(args);
  }
  sum.addText((message as Partial<ToolMessage>).tool_call_id);
  return sum;
}

function wireRole(message: BaseMessage): string {
  const type: string = message.getType();
  if (type === "generic") {
    return (message as unknown as { role: string }).role;
  }
  return wireRoles.get(type) ?? type;
}

/** The calls, those with unreadable arguments and one in OpenAI's old form (`function_call`) included. */
function callsOf(message: BaseMessage): readonly Call[] {
  const { tool_calls: calls, invalid_tool_calls: invalid } = message as Partial<AIMessage>;
  const { function_call: old } = (message.additional_kwargs ?? {}) as {
    function_call?: { name?: string; arguments?: string };
  };
  const all: Call[] = [...recordsIn(calls), ...recordsIn(invalid)];
  return all.length === 0 && old !== undefined ? [{ name: old.name, args: old.arguments } as Call] : all;
}
