import type { BaseMessage } from "@langchain/core/messages";
import type { TokenCounter } from "./token-counter.js";

/** Tokens of a request that carries these messages: each message's own and, once, the counter's `perRequest`. */
export async function countMessages(counter: TokenCounter, messages: readonly BaseMessage[]): Promise<number> {
  let tokens = 0;
  for (const message of messages) {
    tokens += await counter.countMessage(message);
  }
  // Last, because a counter may know it exactly only after its first count.
  return tokens + counter.perRequest;
}
