import {
  AIMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { fieldsByType, requiredField, shapeProblem, type MessageFields } from "./message-fields.js";

/**
 * A message of a stored type with these fields; fields that are missing get the value that a new message has. Takes the object over.
 *
 * @throws Error, naming the field, for an unknown type or a field that does not fit it.
 */
export function reviveFields(type: string, data: Record<string, unknown>): BaseMessage {
  const shapes = fieldsByType.get(type);
  if (shapes === undefined) {
    throw new Error("its type is not one that is stored");
  }
  const fields: MessageFields = { content: [], additional_kwargs: {}, response_metadata: {}, ...data };
  for (const [field, shape] of shapes) {
    const problem = fields[field] === undefined ? undefined : shapeProblem(shape, fields[field]);
    if (problem !== undefined) {
      throw new Error(`its ${field} ${problem}`);
    }
  }
  const required = requiredField.get(type);
  if (required !== undefined && fields[required] === undefined) {
    throw new Error(`its ${required} is missing`);
  }
  return constructors[type as keyof typeof constructors](fields);
}

const constructors = {
  human: (fields: MessageFields) => new HumanMessage(fields as never),
  ai: (fields: MessageFields) => reviveAI(fields),
  system: (fields: MessageFields) => new SystemMessage(fields as never),
  tool: (fields: MessageFields) => new ToolMessage(fields as never),
  generic: (fields: MessageFields) => new ChatMessage(fields as never),
  function: (fields: MessageFields) => new FunctionMessage(fields as never),
};

/**
 * The constructor would add calls to v1 content, parse raw calls again and warn about them, so the fields are set afterwards;
 * `lc_kwargs` is what LangChain's own serialization reads.
 */
function reviveAI(data: MessageFields): AIMessage {
  const fields = { tool_calls: [], invalid_tool_calls: [], ...data };
  const message = new AIMessage({ content: "" });
  const { content, name, id, tool_calls, invalid_tool_calls, usage_metadata, additional_kwargs, response_metadata } = fields as unknown as AIMessage;
  Object.assign(message, { content, name, id, tool_calls, invalid_tool_calls, usage_metadata, additional_kwargs, response_metadata });
  message.lc_kwargs = fields;
  return message;
}
