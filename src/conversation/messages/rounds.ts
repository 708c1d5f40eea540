import type { BaseMessage } from "@langchain/core/messages";
import { roleOf } from "./message.js";

/**
 * A human message and all up to the next human message. Messages before a session's first human message are round 0.
 */
export interface Round {
  /** The round's number in its session: 1 for the first human message, 0 for messages before it. */
  readonly index: number;
  /** The round's messages, oldest first; never empty. */
  readonly messages: BaseMessage[];
}

/**
 * The rounds of a list of messages, oldest first; concatenated they are the list. A summary never begins a round.
 *
 * `firstIndex` is the number of the first round that begins in the list (1 if the list is the whole session). Messages
 * before its human message are the rest of the previous round.
 */
export function splitRounds(
  messages: readonly BaseMessage[],
  { firstIndex = 1 }: { readonly firstIndex?: number } = {},
): Round[] {
  const rounds: Round[] = [];
  let current: BaseMessage[] = [];
  let index = firstIndex - 1;
  for (const message of messages) {
    if (roleOf(message) === "human") {
      if (current.length > 0) {
        rounds.push({ index, messages: current });
      }
      index = rounds.length === 0 ? firstIndex : index + 1;
      current = [];
    }
    current.push(message);
  }
  if (current.length > 0) {
    rounds.push({ index, messages: current });
  }
  return rounds;
}

/** The number of rounds that begin in a list. */
export function roundsIn(messages: readonly BaseMessage[]): number {
  return messages.filter((message) => roleOf(message) === "human").length;
}

/** Factor by which a turn that goes on may exceed a limit in messages before it is cut. */
export const turnFactor = 2;
