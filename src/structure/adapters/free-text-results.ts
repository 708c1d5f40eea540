import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { answeredId, callIdsOf, mayCall } from "../../messages/calls.js";
import { itemIdKeys } from "../../messages/copies/answer-fields.js";
import { outputItems } from "../../messages/copies/output-items.js";
import { type Fields, fieldsOf, recordsIn, without } from "../../messages/values.js";
import { withForm } from "./blocks.js";

const mark = "customTool";

/**
 * The ids of calls of a custom tool, whose argument is free text, as far as ChatOpenAI sends them as such: the items of
 * a raw output go out as they are, and else it looks at the calls.
 */
function freeTextCalls(message: BaseMessage): readonly unknown[] {
  const items = outputItems(fieldsOf(message.response_metadata)["output"]);
  if (items !== undefined) {
    return items.flatMap(({ type, call_id: id }) => (type === "custom_tool_call" ? [id] : []));
  }
  const itemIds = fieldsOf(fieldsOf(message.additional_kwargs)[itemIdKeys[1]]);
  const isFreeText = ({ id, isCustomTool }: Fields) => isCustomTool === true || Object.hasOwn(itemIds, String(id));
  return recordsIn((message as AIMessage).tool_calls).flatMap((call) => (isFreeText(call) ? [call["id"]] : []));
}

/** The indices of the messages that answer a call of a custom tool. Linear. */
export function freeTextResults(messages: readonly BaseMessage[]): ReadonlySet<number> {
  const [open, found] = [new Set<unknown>(), new Set<number>()];
  messages.forEach((message, index) => {
    if (mayCall(message)) {
      // An id may come again, for a call of another tool.
      callIdsOf(message).forEach((id) => open.delete(id));
      freeTextCalls(message).forEach((id) => open.add(id));
    } else if (open.has(answeredId(message) ?? open)) {
      found.add(index);
    }
  });
  return found;
}

/** ChatOpenAI sends a marked result as `custom_tool_call_output`, and any other one as that of a function's call. */
export function responsesResult(message: BaseMessage, isFreeText: boolean): BaseMessage {
  const kwargs = fieldsOf(message.additional_kwargs);
  if (Boolean(kwargs[mark]) === isFreeText) {
    return message;
  }
  return withForm(message, { additional_kwargs: { ...without(kwargs, mark), ...(isFreeText && { [mark]: true }) } });
}
