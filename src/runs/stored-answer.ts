import { storedOutput } from "../doors/chain/messages.js";
import type { ConversationSession } from "../memory/session/conversation-session.js";
import { answersOfTurn } from "../memory/session/turn-messages.js";
import { openTurn } from "../memory/turns/open-turn.js";
import type { RunItem } from "./run.js";

/** The stored answer of a turn, and how it ended; nothing where there is no turn, or nothing of its answer. */
export async function storedAnswer(session: ConversationSession, turnId: string | undefined): Promise<RunItem[]> {
  if (turnId === undefined) {
    return [];
  }
  const { stored, state } = await openTurn({ session, turnId, input: [] });
  const messages = answersOfTurn(stored);
  if (messages.length === 0) {
    return [];
  }
  const answer = { chunk: storedOutput(stored)?.value ?? messages, stored: true } as const;
  return state === "open" ? [answer] : [answer, { state: state === "interrupted" ? "stopped" : "done" }];
}
