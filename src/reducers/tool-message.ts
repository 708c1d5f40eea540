import { type BaseMessage, type MessageContent, ToolMessage } from "@langchain/core/messages";

// From a shortened message to the one that it stands for.
const origins = new WeakMap<BaseMessage, BaseMessage>();

/** The tool message with other content: a new message that is the same in all else, its id included. */
export function withContent(message: ToolMessage, content: MessageContent): ToolMessage {
  const { tool_call_id, name, id, status, artifact, metadata, additional_kwargs, response_metadata } = message;
  const changed = new ToolMessage({
    content,
    tool_call_id,
    name,
    id,
    status,
    artifact,
    metadata,
    additional_kwargs,
    response_metadata,
  });
  origins.set(changed, originOf(message));
  return changed;
}

/** The message that a shortened one stands for; the message itself where it is not shortened. */
export function originOf(message: BaseMessage): BaseMessage {
  return origins.get(message) ?? message;
}
