import { identifyRecord, lastIdOf } from "../codec/message-ids.js";
import { turnNameOf } from "../codec/record-meta.js";
import type { SessionView } from "../store/session-reads.js";
import type { RewindRequest } from "../store/session-writes.js";
import { answerStart } from "./turn-messages.js";
import type { StoredEntry } from "./view.js";

/** A turn whose interrupted answer is to be replaced. */
export interface InterruptedTurn {
  /** Its messages in the log, oldest first. */
  readonly own: readonly StoredEntry[];
  /** The session as it was read. */
  readonly read: Pick<SessionView, "epoch" | "rev" | "next">;
  /** Undefined for a turn without a mark. */
  readonly turnId: string | undefined;
}

/**
 * The interrupted answer of a turn, whose place the answer of a retry takes; `next` fits no session where others have
 * written since, so that nothing is replaced.
 */
export function replacedTail({ own, read, turnId }: InterruptedTurn): RewindRequest {
  const { epoch, rev, next } = read;
  const start = answerStart(own);
  const to = own[start]!.position!;
  const isEnd = own.at(-1)!.position === next - 1 && next - to === own.length - start;
  const forget = own.slice(start).flatMap(({ record }) => identifyRecord(record)?.id ?? []);
  const turns = turnId === undefined ? [] : [{ name: turnNameOf(turnId), count: start, first: own[0]!.position! }];
  return { epoch, rev, next: isEnd ? next : 0, ...lastIdOf([own.at(-1)!.record]), to: isEnd ? to : 0, forget, turns };
}
