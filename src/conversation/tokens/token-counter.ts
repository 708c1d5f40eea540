import type { BaseMessage } from "@langchain/core/messages";

/**
 * Counts tokens the way one model family does.
 *
 * `id` names the encoding and its version: counts are stored with each message under it, and a count under another id
 * is not used. A message's count must depend on that message alone.
 */
export interface TokenCounter {
  /** Names the encoding and its version; not empty. */
  readonly id: string;
  /** Tokens that a request costs once, whatever it holds (the priming of the reply, tool schemas). */
  readonly perRequest: number;
  /** Tokens of one message, its role, name and tool calls included. */
  countMessage(message: BaseMessage): number | Promise<number>;
  /** Tokens of bare text. */
  countText(text: string): number | Promise<number>;
}
