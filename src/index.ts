export {
  BudgetError,
  ConfigurationError,
  ConflictError,
  MemoryError,
  RecordError,
  StoreError,
  StructureError,
  SummaryError,
  type StoreErrorCode,
} from "./errors.js";
export type { MemoryEvent, MemoryEventHandler } from "./events.js";

export type { Round } from "./conversation/rounds.js";
export { summaryMarkOf, type SummaryMark } from "./messages/roles.js";
export {
  assertConversation,
  builtInProfiles,
  repairConversation,
  sanitizeConversation,
  structureRules,
  validateConversation,
  type RepairOptions,
  type RepairedConversation,
  type SanitizeOptions,
  type SanitizedConversation,
  type StructureIssue,
  type StructureOptions,
  type StructureProfile,
  type StructurePurpose,
  type StructureRepair,
  type StructureSeverity,
} from "./structure/index.js";

export { readLegacyMessages, type ListReader, type ReadLegacyOptions } from "./codec/index.js";

export { InMemorySessionStore, type InMemorySessionStoreOptions } from "./store/in-memory/in-memory-session-store.js";
export type { RedisClient } from "./store/redis/redis-client.js";
export { RedisSessionStore, type RedisSessionStoreOptions } from "./store/redis/redis-session-store.js";
export type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  LogPage,
  NewRecord,
  ReadViewOptions,
  RecordIdentity,
  RewindRequest,
  SessionStore,
  SessionView,
  SideChanges,
  SideWrite,
  StoredRounds,
  ViewLimit,
} from "./store/session-store.js";

export { approximateCounter, type ApproximateCounterOptions } from "./tokens/counters/approximate-counter.js";
export { modelCounter, type CountingModel } from "./tokens/counters/model-counter.js";
export { countMessages } from "./tokens/count-messages.js";
export type { EncodingName } from "./tokens/encoder/encodings.js";
export {
  tiktokenCounter,
  type TiktokenCounter,
  type TiktokenCounterOptions,
} from "./tokens/counters/tiktoken-counter.js";
export type { TokenCounter } from "./tokens/token-counter.js";

export type { SystemMessages } from "./conversation/sections.js";
export type { MessagesRunnable, ReducerLike } from "./reducers/as-reducer.js";
export {
  ChatHistoryReducer,
  type ReducerInput,
  type ReductionOutcome,
  type ReductionReason,
  type ViewSize,
} from "./reducers/chat-history-reducer.js";
export type { SummaryModel } from "./reducers/summary/summarizer.js";
export type { SummaryRole } from "./reducers/summary/summary-message.js";
export { conversationGuard, type ConversationGuardOptions } from "./reducers/conversation-guard.js";
export {
  ChatHistorySummarizationReducer,
  type ChatHistorySummarizationReducerOptions,
} from "./reducers/summary/summarization-reducer.js";
export { ChatHistoryTokenReducer, type ChatHistoryTokenReducerOptions } from "./reducers/token-reducer.js";
export {
  ChatHistoryToolResultReducer,
  type ChatHistoryToolResultReducerOptions,
} from "./reducers/tool-result-reducer.js";
export {
  ChatHistoryTruncationReducer,
  type ChatHistoryTruncationReducerOptions,
} from "./reducers/truncation-reducer.js";
export { pipeReducers } from "./reducers/pipe-reducers.js";

export {
  ChatMemoryModule,
  RedisChatMemory,
  RedisChatMessageHistory,
  type AppendOptions,
  type AppendOutcome,
  type ChatMemoryModuleOptions,
  type RedisChatMemoryOptions,
  type RedisChatMessageHistoryOptions,
  type RetrieveOptions,
  type RoundFormat,
  type RoundSource,
} from "./memory/index.js";

export { MessageHistory, type MessageHistoryOptions } from "./openai/message-history.js";
export type {
  ContentPart,
  CustomToolCall,
  FunctionToolCall,
  MessageNotes,
  MessageRole,
  MessageToolCall,
  OpenAIMessage,
  OpenAIRequestMessage,
} from "./openai/openai-message.js";
export type { SimulatedCall } from "./openai/simulated-calls.js";
export {
  RedisToolInvocationHistory,
  type RedisToolInvocationHistoryOptions,
} from "./openai/tool-log/redis-tool-invocation-history.js";
export type {
  NewToolInvocation,
  ToolInvocation,
  ToolInvocationFilter,
  ToolStatus,
} from "./openai/tool-log/tool-invocation.js";
export { ToolInvocationHistory, type ToolInvocationHistoryOptions } from "./openai/tool-log/tool-invocation-history.js";

export * from "./history-manager/index.js";

export { withRedisMemory, type WithRedisMemoryOptions } from "./langchain/with-redis-memory.js";
export type { ChainInput } from "./langchain/chain-messages.js";
