import type { BaseMessage } from "@langchain/core/messages";
import { answeredId, callsOf, type Call } from "../../messages/calls.js";
import { wireRoleOf } from "../../messages/roles.js";
import { fieldsOf, stringIn } from "../../messages/values.js";
import { addContent } from "./content-cost.js";
import { CostSum, type Cost } from "./cost.js";

/** Tokens that a request costs besides its messages: the reply is primed with `<|start|>assistant<|message|>`. */
export const replyTokens = 3;

const tokensPerMessage = 3;
const tokensPerName = 1;
const tokensPerCall = 3;

/**
 * A message's cost by OpenAI's formula ("How to count tokens with tiktoken", OpenAI Cookbook): 3, and the tokens of
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
  sum.addText(wireRoleOf(message));
  if (typeof message.name === "string" && message.name !== "") {
    sum.tokens += tokensPerName;
    sum.addText(message.name);
  }
  const calls = countedCalls(message);
  addContent(sum, message.content, { callsCounted: calls.length > 0 });
  for (const { id, name, args } of calls) {
    sum.tokens += tokensPerCall;
    sum.addText(id);
    sum.addText(name);
    sum.addValue(args);
  }
  sum.addText(answeredId(message));
  return sum;
}

/** The calls of a message; if there are none, the call in OpenAI's old form (`function_call`). */
function countedCalls(message: BaseMessage): readonly Partial<Call>[] {
  const calls = callsOf(message);
  const { function_call: old } = fieldsOf(message.additional_kwargs);
  if (calls.length > 0 || old === undefined) {
    return calls;
  }
  const { name, arguments: args } = fieldsOf(old);
  return [{ name: stringIn(name) ?? "", args }];
}
