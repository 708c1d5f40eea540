export {
  BudgetError,
  ConfigurationError,
  ConflictError,
  EncryptionError,
  MemoryError,
  RecordError,
  StoreError,
  StructureError,
  SummaryError,
  httpStatusOf,
} from "../base/errors.js";
export type { StoreErrorCode, MemoryErrorDetails } from "../base/errors.js";
export type { MemoryEvent, MemoryEventHandler, ViewSize } from "../base/events.js";
export type { TTL } from "../base/options.js";
export type {
  EncryptionKey,
  EncryptionKeys,
  EncryptionKeySource,
  EncryptionOptions,
} from "../store/sealed/keys/key-ring.js";

export type { Round } from "../conversation/messages/rounds.js";
export { summaryMarkOf, type SummaryMark } from "../conversation/messages/message.js";

export { InMemorySessionStore, type InMemorySessionStoreOptions } from "../store/in-memory/in-memory-session-store.js";
export type { RedisClient } from "../store/redis/connection.js";
export { RedisSessionStore } from "../store/redis-store/redis-session-store.js";
export type {
  ConnectionSource,
  RedisSessionStoreOptions,
  RedisStoreSettings,
} from "../store/redis/connection-options.js";
export type { BeforeStore } from "../memory/session/stored-forms.js";
export type { StoreSettings, StoreSource } from "../memory/session/open-store.js";
export type { SessionStore } from "../store/contract/session-store.js";
export type { SideChanges } from "../store/contract/session-writes.js";

export { approximateCounter } from "../conversation/tokens/counters/approximate-counter.js";
export type { ApproximateCounterOptions } from "../conversation/tokens/counters/approximate-counter.js";
export { modelCounter, type CountingModel } from "../conversation/tokens/counters/model-counter.js";
export { countMessages, type TokenCounter } from "../conversation/tokens/counted-messages.js";
export { tiktokenCounter } from "../conversation/tokens/counters/tiktoken-counter.js";
export type {
  EncodingName,
  TiktokenCounter,
  TiktokenCounterOptions,
} from "../conversation/tokens/counters/tiktoken-counter.js";
export type { ToolDefinitionLike } from "../conversation/tokens/formulas/tools-cost.js";

export type { SectionOptions, SystemMessages } from "../conversation/messages/steps.js";
export type { MessagesRunnable, ReducerFunction, ReducerLike } from "../conversation/reducers/as-reducer.js";
export { ChatHistoryReducer } from "../conversation/reducers/chat-history-reducer.js";
export type {
  ReducerInput,
  ReducerRequest,
  ReductionOutcome,
  ReductionReason,
} from "../conversation/reducers/chat-history-reducer.js";
export type { SummaryModel } from "../conversation/reducers/summary/summarizer.js";
export type { SummaryRole } from "../conversation/messages/summary-message.js";
export type { ChatHistorySummarizationReducerOptions } from "../conversation/reducers/summary/summarization-options.js";
export { ChatHistorySummarizationReducer } from "../conversation/reducers/summary/summarization-reducer.js";
export { ChatHistoryTokenReducer } from "../conversation/reducers/token-reducer.js";
export type { TokenBudgetOptions, ChatHistoryTokenReducerOptions } from "../conversation/reducers/token-reducer.js";
export { ChatHistoryRoundReducer, ChatHistoryTruncationReducer } from "../conversation/reducers/truncation-reducer.js";
export type {
  ChatHistoryRoundReducerOptions,
  ChatHistoryTruncationReducerOptions,
} from "../conversation/reducers/truncation-reducer.js";
export { ChatHistoryToolResultReducer } from "../conversation/reducers/tool-result-reducer.js";
export type { ChatHistoryToolResultReducerOptions } from "../conversation/reducers/tool-result-reducer.js";
export { contextWindow } from "../conversation/reducers/window/context-window.js";
export type { ContextWindowOptions, WindowTrigger } from "../conversation/reducers/window/options.js";
export { pipeReducers } from "../conversation/reducers/pipe-reducers.js";

export { ChatMemoryModule } from "../memory/histories/chat-memory-module.js";
export type {
  ChatMemoryModuleOptions,
  RetrieveOptions,
  RoundFormat,
  RoundSource,
} from "../memory/histories/chat-memory-module.js";
export { RedisChatMemory } from "../memory/histories/redis-chat-memory.js";
export { sessionConfig } from "../memory/session/identity.js";
export type {
  HistoryIdentity,
  SessionConfig,
  SessionFields,
  SessionMetadata,
  SessionNames,
  SessionIdOption,
} from "../memory/session/identity.js";
export type { WithTurnOptions } from "../memory/session/hold/local-holds.js";
export type { MemoryTurn } from "../memory/turns/manual-turn.js";
export { RedisChatMessageHistory } from "../memory/histories/redis-chat-message-history.js";
export type { RedisChatMessageHistoryOptions } from "../memory/histories/redis-chat-message-history.js";
export type { AppendOptions, AppendOutcome, TurnWrite } from "../memory/session/append-input.js";
export type { ForkOptions } from "../memory/sessions/copy-session.js";
export type { HistoryStats, MessagePage, PageItem, PageOptions } from "../memory/session/screen-pages.js";
export type { ReductionSize, StoredReduction } from "../store/contract/session-data.js";
export type { MemorySettings, RedisChatMemoryOptions } from "../memory/session/memory-context.js";

export { withRedisMemory } from "../doors/chain/with-redis-memory.js";
export type { WithRedisMemoryOptions } from "../doors/chain/options.js";
export type { ChainInput } from "../doors/chain/messages.js";
