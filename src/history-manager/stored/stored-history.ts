import type { BaseMessage } from "@langchain/core/messages";
import { roleOf } from "../../messages/roles.js";
import { splitRounds } from "../../conversation/rounds.js";
import { repairConversation } from "../../structure/repair/repair.js";
import type { StructureRepair } from "../../structure/repair/repair-session.js";
import { textOf } from "../../messages/text.js";

/** What is stored of earlier turns, sorted by how it is kept. */
export interface StoredHistory {
  /** System messages and summaries that the view holds: above all rounds. */
  readonly pinned: readonly BaseMessage[];
  /** Oldest first. Each can be sent as it is. */
  readonly rounds: readonly (readonly BaseMessage[])[];
  /** The current turn's user message, where the application has stored it already. */
  readonly current: BaseMessage | undefined;
  /**
   * What was changed for the model, because it would have been refused: calls without results and the like. It stays
   * stored as it is.
   */
  readonly repairs: readonly StructureRepair[];
}

/**
 * Sorts a view. The last message is the current turn's if it is human and says exactly `originalUserMessage`. Linear.
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
  // Stable, and by type: a provider sees a summary as what its type says, and system messages belong at the front.
  const pinned = earlier.filter(isPinned).sort((a, b) => placeOf(a) - placeOf(b));
  // As the input of a model, because the user's message follows: then calls at the end are open for good.
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
  return message.getType() === "human" || message.getType() === "ai" ? 1 : 0;
}
