import type { BaseMessage } from "@langchain/core/messages";
import { repairConversation } from "../structure/repair/repair.js";
import { report } from "../events.js";
import type { RedisChatMessageHistory } from "../memory/redis-chat-message-history.js";
import { sessionOf } from "../memory/session-of.js";

/** A view and what the user brings to it. */
export interface GuardRequest {
  readonly history: RedisChatMessageHistory;
  readonly view: readonly BaseMessage[];
  readonly brought: readonly BaseMessage[];
}

/**
 * The view as it can stand before the messages that the user brings: what providers would refuse is repaired and
 * reported.
 *
 * The repair sees both, because a tool result that the user brings answers a call at the end of the view. What the user
 * brings is never changed.
 */
export function guardedView({ history, view, brought }: GuardRequest): BaseMessage[] {
  const { onEvent } = sessionOf("withRedisMemory", history).context;
  const { messages, repairs } = repairConversation([...view, ...brought], { profile: "langchain" });
  if (repairs.length === 0) {
    return [...view];
  }
  const before = messages.length - brought.length;
  const intact = brought.every((message, index) => messages[before + index] === message);
  report(onEvent, {
    type: "repaired",
    sessionId: history.sessionId,
    rules: [...new Set(repairs.map(({ rule }) => rule))],
  });
  return intact ? messages.slice(0, before) : repairConversation(view, { profile: "langchain" }).messages;
}
