// What users write, checked against the declarations of the package: as ESM and CommonJS, with the declarations
// themselves checked too.
import type { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import type { BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import type { Runnable } from "@langchain/core/runnables";
import type { Cluster } from "ioredis";
import {
  ChatHistoryTruncationReducer,
  InMemorySessionStore,
  MemoryError,
  RedisChatMessageHistory,
  type SessionStore,
  StoreError,
  type StoreErrorCode,
} from "langchain-redis-memory";

/** The client; ioredis exports it by this name since 5.1 only. */
type Redis = ReturnType<Cluster["nodes"]>[number];

/** A history on a client of the caller's own, as LangChain knows it. */
export function historyOn(client: Redis | Cluster): BaseListChatMessageHistory {
  return new RedisChatMessageHistory({ sessionId: "types", client, sessionTTL: 60 });
}

/** A history without Redis. */
export async function messagesOf(store: SessionStore = new InMemorySessionStore()): Promise<BaseMessage[]> {
  const history = new RedisChatMessageHistory({ sessionId: "types", store });
  await history.addUserMessage("hello");
  return history.getMessages();
}

/** A reducer behind a prompt. */
export const chain: Runnable<{ question: string }, BaseMessage[]> = ChatPromptTemplate.fromTemplate<{
  question: string;
}>("{question}").pipe(new ChatHistoryTruncationReducer({ targetCount: 10 }));

// @ts-expect-error A target is needed.
export const noTarget = () => new ChatHistoryTruncationReducer({});

/** What a caller knows of a failed call. */
export function codeOf(error: unknown): StoreErrorCode | string | undefined {
  if (StoreError.isInstance(error)) {
    const code: StoreErrorCode = error.code;
    return code;
  }
  return MemoryError.isInstance(error) ? error.code : undefined;
}
