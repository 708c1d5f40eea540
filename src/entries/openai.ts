export { MessageHistory, type MessageHistoryOptions } from "../openai/message-history.js";
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
} from "../openai/message.js";
export type {
  OpenAIRequestMessage,
  RequestAssistantMessage,
  RequestInstruction,
  RequestToolMessage,
  RequestUserMessage,
} from "../openai/request.js";
export type {
  ResponsesInputCall,
  ResponsesInputItem,
  ResponsesInputMessage,
  ResponsesInputPart,
  ResponsesInputResult,
} from "../openai/responses-input.js";
export type { ChatHistoryLike } from "../openai/saved-messages.js";
export type { SimulatedCall } from "../messages/simulated-calls.js";
export type { Clock } from "../openai/timestamp.js";
export {
  RedisToolInvocationHistory,
  type RedisToolInvocationHistoryOptions,
} from "../tool-log/redis-tool-invocation-history.js";
export type {
  NewToolInvocation,
  ToolInvocation,
  ToolInvocationFilter,
  ToolStatus,
} from "../tool-log/tool-invocation.js";
export { ToolInvocationHistory, type ToolInvocationHistoryOptions } from "../tool-log/tool-invocation-history.js";
export { ReferenceManager, type Chunk, type SourceReference } from "../tool-loop/stored/reference-manager.js";
