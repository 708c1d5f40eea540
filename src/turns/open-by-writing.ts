import type { BaseMessage } from "@langchain/core/messages";
import type { RedisChatMessageHistory } from "../memory/redis-chat-message-history.js";
import { roleOf } from "../messages/roles.js";
import { writeTurn } from "../session/append-options.js";
import { openTurn, sortOut, type OpenTurn, type TurnRequest } from "./open-turn.js";

/** A turn that begins with the write of its input. */
export interface OpeningWrite extends TurnRequest {
  readonly history: RedisChatMessageHistory;
}

/**
 * True for an input of which the write itself tells whether it is new: one message of the user. Of any other input, the
 * session has to be read first.
 */
export function canOpenByWriting(input: readonly BaseMessage[]): boolean {
  return input.length === 1 && roleOf(input[0]!) === "human";
}

/**
 * Stores what the user said and reads the view at the same moment. Of a turn that is stored, even in part, nothing is
 * written, and it is sorted out as by `openTurn`. One round trip; one more for a turn outside the view, and for a
 * message that was stored without the turn's name.
 */
export async function openByWriting({ history, ...request }: OpeningWrite): Promise<OpenTurn> {
  const { session, turnId, input } = request;
  const { appended, next, storedTurn, view } = await writeTurn(history, input, {
    ...(turnId !== undefined && { turnId }),
    turn: { done: false, opens: true, returnView: true },
  });
  if (view === undefined || (storedTurn === undefined && appended === 0)) {
    return openTurn(request);
  }
  if (storedTurn !== undefined) {
    const { done, count, first } = storedTurn;
    return sortOut(request, session.decode({ ...view, turn: { done, count, first } }));
  }
  const first = next - appended;
  const mark = turnId === undefined ? {} : { turn: { done: false, count: appended, first } };
  const decoded = session.decode({ ...view, ...mark });
  const earlier = decoded.entries.filter(({ position }) => position === undefined || position < first);
  const read = { view: decoded, history: earlier.map(({ message }) => message) };
  return { state: "new", ...read, stored: [], isQuestionGone: false, newMessages: [], turn: input };
}
