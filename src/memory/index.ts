export {
  ChatMemoryModule,
  defaultTruncationNotice,
  type ChatMemoryModuleOptions,
  type Retrieved,
  type RetrieveOptions,
  type RoundFormat,
  type RoundSource,
} from "./recall/chat-memory-module.js";
export type { AppendOptions, AppendOutcome } from "./conversation-session.js";
export type { RedisChatMemoryOptions } from "./memory-context.js";
export { RedisChatMemory } from "./redis-chat-memory.js";
export { RedisChatMessageHistory, type RedisChatMessageHistoryOptions } from "./redis-chat-message-history.js";
