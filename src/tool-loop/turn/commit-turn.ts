import { writeTurn, type TurnOutcome, type TurnSettings } from "../../session/append-options.js";
import type { RedisChatMessageHistory } from "../../memory/redis-chat-message-history.js";
import { replacedTail } from "../../session/replaced-tail.js";
import { isInterrupted } from "../../codec/message-ids.js";
import type { SideChanges } from "../../store/side-fields.js";
import type { OpenTurn } from "../../turns/open-turn.js";
import type { TurnRecord } from "./turn-record.js";

/** A turn to store. */
export interface TurnCommit {
  readonly turnId: string;
  readonly record: TurnRecord;
  readonly side: SideChanges;
  /** What was read of the turn under this name; undefined where the name was not known then. */
  readonly opened: OpenTurn | undefined;
}

/** Writes a turn once: whole, behind the part of it that is stored, or in the place of an interrupted answer. */
export function commitTurn(history: RedisChatMessageHistory, commit: TurnCommit): Promise<TurnOutcome> {
  const { turnId, record, side } = commit;
  return writeTurn(history, record.messages, { turnId, side, turn: writeOf(commit) });
}

function writeOf({ turnId, record, opened }: TurnCommit): TurnSettings {
  const last = record.messages.at(-1);
  // A run that was stopped leaves its turn open, so that the answer of a retry takes the place of the interrupted one.
  const done = last === undefined || !isInterrupted(last);
  const stored = opened?.view.stored.turn?.count ?? 0;
  // Of a turn that was stored when it was read, the record lacks the question: where another has removed the turn
  // since, the answer alone must not be stored.
  if (opened?.state === "open" || opened?.state === "stored") {
    return { done, stored };
  }
  if (opened?.state !== "interrupted") {
    return { done };
  }
  return { done, stored, cut: replacedTail({ own: opened.stored, read: opened.view.stored, turnId }) };
}
