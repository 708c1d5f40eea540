export type { StoreErrorCode } from "../base/error-codes.js";
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
  type MemoryErrorDetails,
} from "../base/errors.js";
export type { MemoryEvent, MemoryEventHandler, ViewSize } from "../base/events.js";
export type { TTL } from "../base/options.js";
export type {
  EncryptionKey,
  EncryptionKeys,
  EncryptionKeySource,
  EncryptionOptions,
} from "../sealed/keys/encryption-options.js";

export type { Round } from "../messages/rounds.js";
export { summaryMarkOf, type SummaryMark } from "../messages/roles.js";

export { InMemorySessionStore } from "../model/in-memory-session-store.js";
export type { InMemorySessionStoreOptions } from "../model/in-memory-session-store.js";
export type { RedisClient } from "../redis/client.js";
export { RedisSessionStore } from "../redis-store/redis-session-store.js";
export type { ConnectionSource, RedisSessionStoreOptions, RedisStoreSettings } from "../redis/store-options.js";
export type { StoreSettings, StoreSource } from "../session/open-store.js";
export type { SessionStore } from "../store/session-store.js";
export type { SideChanges } from "../store/side-fields.js";

export { approximateCounter, type ApproximateCounterOptions } from "../tokens/counters/approximate-counter.js";
export { modelCounter, type CountingModel } from "../tokens/counters/model-counter.js";
export { countMessages } from "../tokens/counted-messages.js";
export type { EncodingName } from "../tokens/encoder/encodings.js";
export {
  tiktokenCounter,
  type TiktokenCounter,
  type TiktokenCounterOptions,
} from "../tokens/counters/tiktoken-counter.js";
export type { ToolDefinitionLike } from "../tokens/formulas/tools-cost.js";
export type { TokenCounter } from "../tokens/token-counter.js";

export type { CutAt, SectionOptions, SystemMessages } from "../messages/sections.js";
export type { MessagesRunnable, ReducerFunction, ReducerLike } from "../reducers/as-reducer.js";
export { ChatHistoryReducer, type ReducerInput, type ReducerRequest } from "../reducers/chat-history-reducer.js";
export type { ReductionOutcome, ReductionReason } from "../reducers/reduction-outcome.js";
export type { SummaryModel } from "../reducers/summary/summarizer.js";
export type { SummaryRole } from "../messages/summary-message.js";
export { promptCacheMarks, type PromptCacheMarksOptions } from "../reducers/prompt-cache/marks.js";
export type { CacheTtl } from "../reducers/prompt-cache/mark-forms.js";
export type { ChatHistorySummarizationReducerOptions } from "../reducers/summary/summarization-options.js";
export { ChatHistorySummarizationReducer } from "../reducers/summary/summarization-reducer.js";
export type { TokenBudgetOptions } from "../reducers/options.js";
export { ChatHistoryRoundReducer, type ChatHistoryRoundReducerOptions } from "../reducers/round-reducer.js";
export { ChatHistoryTokenReducer, type ChatHistoryTokenReducerOptions } from "../reducers/token-reducer.js";
export {
  ChatHistoryToolResultReducer,
  type ChatHistoryToolResultReducerOptions,
} from "../reducers/tool-result-reducer.js";
export {
  ChatHistoryTruncationReducer,
  type ChatHistoryTruncationReducerOptions,
} from "../reducers/truncation-reducer.js";
export { contextWindow } from "../reducers/window/context-window.js";
export type { ContextWindowOptions } from "../reducers/window/options.js";
export type { WindowTrigger } from "../reducers/reduction-trigger.js";
export { pipeReducers } from "../reducers/pipe-reducers.js";

export { simulateReducers } from "../reducers/simulation/simulate-reducers.js";
export type {
  NamedReducer,
  PromptPrices,
  ReducerSimulation,
  SimulationOptions,
} from "../reducers/simulation/simulate-reducers.js";

export {
  ChatMemoryModule,
  type ChatMemoryModuleOptions,
  type RetrieveOptions,
  type RoundFormat,
  type RoundSource,
} from "../memory/chat-memory-module.js";
export { RedisChatMemory } from "../memory/redis-chat-memory.js";
export type { HistoryIdentity } from "../session/identity.js";
export { sessionConfig, type SessionConfig, type SessionFields } from "../session/identity.js";
export type { SessionMetadata, SessionNames } from "../session/labels.js";
export type { WithTurnOptions } from "../session/hold/options.js";
export type { MemoryTurn } from "../turns/manual-turn.js";
export { RedisChatMessageHistory, type RedisChatMessageHistoryOptions } from "../memory/redis-chat-message-history.js";
export type { AppendOptions, AppendOutcome, TurnWrite } from "../session/append-options.js";
export type { ForkOptions } from "../sessions/fork-session.js";
export type { HistoryStats, MessagePage, PageItem, PageOptions } from "../session/screen-pages.js";
export type { ReductionSize, StoredReduction } from "../store/session-pages.js";
export type { MemorySettings, RedisChatMemoryOptions } from "../session/memory-context.js";
export type { BeforeStore } from "../session/stored-forms.js";

export { withRedisMemory } from "../chain/with-redis-memory.js";
export type { WithRedisMemoryOptions } from "../chain/options.js";
export type { ChainInput } from "../chain/messages.js";
export type { SessionIdOption } from "../session/identity.js";
