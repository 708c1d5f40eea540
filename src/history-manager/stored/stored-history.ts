import type { BaseMessage } from "@langchain/core/messages";
import { textOf } from "../../messages/content.js";
import { roleOf, speakerOf } from "../../messages/roles.js";
import { splitRounds } from "../../conversation/rounds.js";
import { repairConversation } from "../../structure/repair/repair.js";
import type { StructureRepair } from "../../structure/repair/repair-session.js";

/** The stored messages of earlier turns, by how a window treats them. */
export interface StoredHistory {
  /** The view's system messages and summaries; they come before all rounds. */
  readonly pinned: readonly BaseMessage[];
  /** Oldest first. Each is valid model input. */
  readonly rounds: readonly (readonly BaseMessage[])[];
  /** The current turn's user message, if the application has stored it already. */
  readonly current: BaseMessage | undefined;
  /** Repairs of messages that a model would refuse, such as calls without results. The stored messages stay as is. */
  readonly repairs: readonly StructureRepair[];
}

/**
 * Sorts a view. The last message belongs to the current turn if it is human and its text equals `originalUserMessage`.
 * Linear.
 */
export function readStoredHistory(
  view: readonly BaseMessage[],
  originalUserMessage: string | undefined,
): StoredHistory {
  const last = view.at(-1);
  const isCurrent =
    last !== undefined &&
    originalUserMessage !== undefined &&
    roleOf(last) === "human" &&
    textOf(last) === originalUserMessage;
  const earlier = isCurrent ? view.slice(0, -1) : view;
  const isPinned = (message: BaseMessage) => roleOf(message) === "system" || roleOf(message) === "summary";
  // System messages must come first. By type, because a provider sees a summary as whatever its type says.
  const pinned = earlier.filter(isPinned).sort((a, b) => placeOf(a) - placeOf(b));
  // As model input, because the user's message follows: calls at the end will never get a result.
  const { messages, repairs } = repairConversation(
    earlier.filter((message) => !isPinned(message)),
    { purpose: "model-input" },
  );
  return {
    pinned,
    rounds: splitRounds(messages).map((round) => round.messages),
    current: isCurrent ? last : undefined,
    repairs,
  };
}

function placeOf(message: BaseMessage): number {
  return speakerOf(message) === "system" ? 0 : 1;
}
