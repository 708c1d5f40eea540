export { MessageHistory } from "../formats/openai/message-history.js";
export type {
  AudioPart,
  ContentPart,
  CustomToolCall,
  FilePart,
  FunctionToolCall,
  ImageFilePart,
  ImagePart,
  MessageNotes,
  MessageRole,
  MessageToolCall,
  OpenAIMessage,
  RefusalPart,
  TextPart,
  OpenAIRequestMessage,
  RequestAssistantMessage,
  RequestInstruction,
  RequestToolMessage,
  RequestUserMessage,
} from "../formats/openai/message.js";
export type { ChatHistoryLike } from "../formats/openai/saved-messages.js";
export type { SimulatedCall } from "../conversation/messages/simulated-calls.js";
export { RedisToolInvocationHistory } from "../formats/tool-log/tool-invocation-history.js";
export type { RedisToolInvocationHistoryOptions } from "../formats/tool-log/tool-invocation-history.js";
export type {
  NewToolInvocation,
  ToolInvocation,
  ToolInvocationFilter,
  ToolStatus,
} from "../formats/tool-log/tool-invocation.js";
export { ToolInvocationHistory } from "../formats/tool-log/tool-invocation-history.js";
export type { ToolInvocationHistoryOptions } from "../formats/tool-log/tool-invocation-history.js";
export { ReferenceManager, type Chunk, type SourceReference } from "../doors/tool-loop/stored/references.js";
