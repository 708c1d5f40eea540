import type { BaseMessage } from "@langchain/core/messages";
import { textOf } from "../messages/content.js";
import { roleOf, summaryMarkOf } from "../messages/roles.js";

/** A question and the words of its answer, for comparing what a client holds with what is stored. */
export interface SpokenRound {
  /** The words of the question; undefined for an answer at the beginning. */
  readonly asked: string | undefined;
  /** The words of its answer, those beside calls included; empty without one. */
  said: string;
  /** The words of the answer's last message. */
  last: string;
  /** Index in the list behind its last message with words. */
  end: number;
}

/** The rounds of messages, as far as words tell them. */
export function spokenRounds(messages: readonly BaseMessage[]): SpokenRound[] {
  const rounds: SpokenRound[] = [];
  for (const [index, message] of messages.entries()) {
    const [role, words] = [roleOf(message), wordsOf(message)];
    if (role === "human" && summaryMarkOf(message) === undefined) {
      rounds.push({ asked: words, said: "", last: "", end: index + 1 });
    } else if (role === "ai" && words !== "") {
      if (rounds.length === 0) {
        rounds.push({ asked: undefined, said: "", last: "", end: 0 });
      }
      const round = rounds.at(-1)!;
      round.said += words;
      round.last = words;
      round.end = index + 1;
    }
  }
  return rounds;
}

/**
 * The words of a message as they are compared: whatever the form of its letters and line ends, and of an answer without
 * white space, by which clients join its parts.
 */
export function wordsOf(message: BaseMessage): string {
  const text = textOf(message).trim().normalize("NFC");
  return roleOf(message) === "ai" ? text.replaceAll(/\s+/g, "") : text.replaceAll("\r\n", "\n");
}

/**
 * True if a client's answer may be the stored one. A client may hold all of it, its end without the words beside calls,
 * or as much of either as it got before a Stop; and more than is stored of an answer that was stopped, or of which
 * retention left the end.
 */
export function isHeld(client: SpokenRound, stored: SpokenRound): boolean {
  if (client.said === "" || stored.said === "") {
    return false;
  }
  const isPart = (part: string, whole: string) => whole.startsWith(part) || whole.endsWith(part);
  return isPart(client.said, stored.said) || stored.last.startsWith(client.said) || isPart(stored.said, client.said);
}

/** The last round of a client that is stored. */
export interface SharedRound {
  readonly held: SpokenRound;
  readonly stored: SpokenRound;
}

/** How many answered rounds a client may be ahead: those that were never stored. */
const mostAhead = 8;

/** The last of a client's answered rounds that is stored, at its last place; undefined where none is. Linear. */
export function lastShared(held: readonly SpokenRound[], stored: readonly SpokenRound[]): SharedRound | undefined {
  const answered = held.filter(({ said }) => said !== "").slice(-mostAhead);
  for (const round of answered.reverse()) {
    // Retention, or a client that keeps its newest messages, may have left an answer without its question.
    const isSame = ({ asked }: SpokenRound) =>
      asked === round.asked || asked === undefined || round.asked === undefined;
    const there = stored.findLast((other) => isSame(other) && isHeld(round, other));
    if (there !== undefined) {
      return { held: round, stored: there };
    }
  }
  return undefined;
}
