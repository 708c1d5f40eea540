import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { lazy, objectWith } from "../../base/options.js";

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

/** Schema field of an option that takes a counter. */
export const counterField = lazy(() =>
  z.optional(
    objectWith<TokenCounter>(["countMessage", "countText"], "a TokenCounter").check(
      z.refine(
        ({ id, perRequest }) => typeof id === "string" && perRequest >= 0 && perRequest < Infinity,
        'must have an "id" and a "perRequest" of 0 or more',
      ),
    ),
  ),
);
