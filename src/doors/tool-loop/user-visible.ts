import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { callsOf } from "../../conversation/messages/calls.js";
import { textOf } from "../../conversation/messages/content.js";
import { textAnswer } from "../../conversation/messages/copies/change-content.js";
import { roleOf } from "../../conversation/messages/roles.js";
import { answerStart } from "../../memory/session/turn-messages.js";
import type { OpenTurn } from "../../memory/turns/open-turn.js";
import { isQuestion } from "./stored/history.js";

/** The current turn, as far as it is known. */
export interface CurrentTurn {
  /** Its stored part; undefined before the first read. */
  readonly opened: OpenTurn | undefined;
  readonly originalUserMessage: string | undefined;
  /** Messages that were added since. */
  readonly added: readonly BaseMessage[];
}

/**
 * The stored messages, then what the current turn adds to them: nothing where the turn is stored already, and no
 * question where that is stored. An interrupted answer, which the turn replaces, is left out.
 */
export function withCurrentTurn(
  stored: readonly BaseMessage[],
  { opened, originalUserMessage, added }: CurrentTurn,
): BaseMessage[] {
  if (opened?.state === "stored") {
    return [...stored];
  }
  const own = opened?.stored ?? [];
  const replaced = opened?.state === "interrupted" ? own.slice(answerStart(own)) : [];
  const gone = new Set(replaced.map(({ message }) => message.id));
  const messages = stored.filter(({ id }) => id === undefined || !gone.has(id));
  const hasQuestion =
    own.some(({ message }) => roleOf(message) === "human") || isQuestion(messages.at(-1), originalUserMessage);
  const question = originalUserMessage === undefined || hasQuestion ? [] : [new HumanMessage(originalUserMessage)];
  return [...messages, ...question, ...added];
}

/**
 * Returns what a user sees of messages: what both sides said, without tool calls, tool results, instructions and
 * summaries.
 */
export function userVisible(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.flatMap((message) => {
    const role = roleOf(message);
    if (role === "human") {
      return [message];
    }
    return role === "ai" && (callsOf(message).length === 0 || textOf(message).trim() !== "")
      ? [callsOf(message).length === 0 ? message : textAnswer(message, textOf(message))]
      : [];
  });
}
