import type { BaseMessage } from "@langchain/core/messages";
import type { TokenCounter } from "../../src/conversation/tokens/counted-messages.js";
import { ai, human } from "./messages.js";

/** Counts each character of a text as a token, and nothing else. */
export const characters: TokenCounter = {
  id: "characters",
  perRequest: 0,
  countText: (text: string) => text.length,
  countMessage: ({ text }) => text.length,
};

/** A question and its answer, whose ids are their texts. */
export const turn = (index: number): BaseMessage[] => [
  human(`q${index}`, `q${index}`),
  ai(`a${index}`, { id: `a${index}` }),
];

/** The ids of messages. */
export const idsOf = (messages: readonly BaseMessage[]): (string | undefined)[] => messages.map(({ id }) => id);
