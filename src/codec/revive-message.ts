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
 * A message of a stored type with these fields; fields that are missing get the value that a new message has. Takes the
 * object over.
 *
 * @throws Error, naming the field, for an unknown type or a field that does not fit it.
 */
export function reviveFields(type: string, data: Record<string, unknown>): BaseMessage {
  const shapes = shapesByType.get(type);
  if (shapes === undefined) {
    throw new Error("its type is not one that is stored");
  }
  checkShapes(data, shapes);
  const required = requiredField.get(type);
  if (required !== undefined && data[required] === undefined) {
    throw new Error(`its ${required} is missing`);
  }
  data["content"] ??= [];
  return constructors[type as keyof typeof constructors](data as MessageFields);
}

const shapesByType = new Map([...fieldsByType].map(([type, fields]) => [type, new Map(fields)]));

/** By the fields that are there, which are few. */
function checkShapes(
  data: Readonly<Record<string, unknown>>,
  shapes: ReadonlyMap<string, Parameters<typeof shapeProblem>[0]>,
): void {
  for (const field in data) {
    const value = data[field];
    // The two fields that every message has: an id has no shape to fit here, and text is always content.
    if (field === "id" || (field === "content" && typeof value === "string")) {
      continue;
    }
    const shape = shapes.get(field);
    const problem = shape === undefined || value === undefined ? undefined : shapeProblem(shape, value);
    if (problem !== undefined) {
      throw new Error(`its ${field} ${problem}`);
    }
  }
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
 * The constructor would add calls to v1 content, parse raw calls again and warn about them; where one of these is
 * there, the fields are set afterwards. `lc_kwargs` is what LangChain's own serialization reads.
 */
function reviveAI(data: Partial<MessageFields>): AIMessage {
  if (
    data.response_metadata?.["output_version"] === undefined &&
    data.additional_kwargs?.["tool_calls"] === undefined &&
    data["contentBlocks"] === undefined
  ) {
    return new AIMessage(data as never);
  }
  const fields = { tool_calls: [], invalid_tool_calls: [], additional_kwargs: {}, response_metadata: {}, ...data };
  const message = new AIMessage({ content: "" });
  const { content, name, id, tool_calls, invalid_tool_calls, usage_metadata, additional_kwargs, response_metadata } =
    fields as unknown as AIMessage;
  Object.assign(message, {
    content,
    name,
    id,
    tool_calls,
    invalid_tool_calls,
    usage_metadata,
    additional_kwargs,
    response_metadata,
  });
  message.lc_kwargs = fields;
  return message;
}
