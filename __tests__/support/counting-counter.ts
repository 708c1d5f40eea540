import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { callIdsOf } from "../../src/conversation/messages/content.js";
import type { TokenCounter } from "../../src/conversation/tokens/counted-messages.js";

let made = 0;

/**
 * A counter with a simple rule (one token for each four characters, four for each message and call) that notes what it
 * was asked.
 */
export class CountingCounter implements TokenCounter {
  readonly id = `counting-${(made += 1)}`;
  readonly perRequest: number;
  readonly asked: BaseMessage[] = [];
  textsAsked = 0;

  constructor({ perRequest = 3 }: { readonly perRequest?: number } = {}) {
    this.perRequest = perRequest;
  }

  countMessage(message: BaseMessage): number {
    this.asked.push(message);
    return sizeOf(message);
  }

  countText(text: string): number {
    this.textsAsked += 1;
    return tokensOf(text);
  }

  /** Tokens of a request with these messages, by a count of its own. */
  totalOf(messages: readonly BaseMessage[]): number {
    return messages.reduce((total, message) => total + sizeOf(message), this.perRequest);
  }
}

function sizeOf(message: BaseMessage): number {
  return 4 + 4 * callIdsOf(message as AIMessage).length + tokensOf(message.text);
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / 4);
}
