import type { BaseMessage } from "@langchain/core/messages";
import { mayCall } from "../messages/content.js";
import { roleOf } from "../messages/message.js";
import { turnFactor } from "../messages/rounds.js";
import type { ViewLimit, ChatHistoryReducer } from "./chat-history-reducer.js";

/** When views are reduced: between turns, awaited or not, wherever the limit is exceeded, or on request. */
export type ReduceWhen = "between-turns" | "background" | "always" | "never";

/**
 * The size above which messages that end with `last` are reduced. Between turns, while a turn goes on, only the hard
 * limit counts: the limit in tokens, and twice that in messages. So too for a request, which waits for its reduction,
 * where others do not (`background`).
 */
export function limitAt(
  { viewLimit }: ChatHistoryReducer,
  {
    reduceWhen,
    last,
    isAwaited = false,
  }: { readonly reduceWhen: ReduceWhen; readonly last: BaseMessage | undefined; readonly isAwaited?: boolean },
): ViewLimit {
  const isHard = (last !== undefined && goesOn(last)) || (isAwaited && reduceWhen === "background");
  if (reduceWhen === "always" || !isHard) {
    return viewLimit;
  }
  const { messages, fromStart, tokens } = viewLimit;
  return {
    ...(messages !== undefined && { messages: turnFactor * messages }),
    ...(fromStart !== undefined && { fromStart: turnFactor * fromStart }),
    ...(tokens !== undefined && { tokens }),
  };
}

/** True if the turn goes on behind the message: results are to come, or the model's answer to them. */
function goesOn(last: BaseMessage): boolean {
  return roleOf(last) === "tool" || (roleOf(last) === "ai" && mayCall(last));
}
