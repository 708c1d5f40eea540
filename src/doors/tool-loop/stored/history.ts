import type { BaseMessage } from "@langchain/core/messages";
import { textOf } from "../../../conversation/messages/content.js";
import { refusedMarkOf, roleOf, speakerOf } from "../../../conversation/messages/roles.js";
import { answerStart } from "../../../memory/session/turn-messages.js";
import type { OpenTurn } from "../../../memory/turns/open-turn.js";

/** The stored messages, by how a window treats them. */
export interface StoredHistory {
  /** The view's system messages and summaries; they come before all rounds. */
  readonly pinned: readonly BaseMessage[];
  /** The other messages before the turn, oldest first. */
  readonly earlier: readonly BaseMessage[];
  /** The current turn's user message, if it is stored already. */
  readonly current: BaseMessage | undefined;
  /** True where that message is stored, or was stored and then discarded. */
  readonly isAsked: boolean;
  /** The steps of the current turn that are stored already, where an earlier run stored a part of it. */
  readonly steps: readonly BaseMessage[];
}

/**
 * Sorts what is stored. The current turn's question is the one that was stored under its name, else a user's message at
 * the end with exactly the original text. Linear.
 */
export function readStoredHistory(
  { state, history, stored, isQuestionGone }: Pick<OpenTurn, "state" | "history" | "stored" | "isQuestionGone">,
  original: string | undefined,
): StoredHistory {
  const start = answerStart(stored);
  const input = stored.slice(0, start).map(({ message }) => message);
  const all = [...history, ...input];
  const place = input.findLastIndex((message) => roleOf(message) === "human");
  const last = all.at(-1);
  const current = place >= 0 ? input[place] : isQuestion(last, original) ? last : undefined;
  const others = all.filter((message) => message !== current);
  const isPinned = (message: BaseMessage) => roleOf(message) === "system" || roleOf(message) === "summary";
  const steps = state === "open" ? stored.slice(start).map(({ message }) => message) : [];
  return {
    // System messages must come first. By type, because a provider sees a summary as whatever its type says.
    pinned: others.filter(isPinned).sort((a, b) => placeOf(a) - placeOf(b)),
    earlier: others.filter((message) => !isPinned(message)),
    current,
    isAsked: current !== undefined || isQuestionGone,
    steps: steps.filter((message) => refusedMarkOf(message) === undefined),
  };
}

/** True for a user's message with exactly this text. */
export function isQuestion(message: BaseMessage | undefined, text: string | undefined): boolean {
  return message !== undefined && roleOf(message) === "human" && textOf(message) === text;
}

function placeOf(message: BaseMessage): number {
  return speakerOf(message) === "system" ? 0 : 1;
}
