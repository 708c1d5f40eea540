import { identifyRecord } from "../codec/message-ids.js";
import { turnNameOf } from "../codec/record-meta.js";
import type { RewindRequest } from "../store/session-store.js";
import { answerStart } from "../memory/turn-messages.js";
import type { OpenTurn } from "./open-turn.js";

/**
 * The interrupted answer of a turn, whose place the answer of a retry takes; `next` fits no session where others have
 * written since, so that nothing is replaced.
 */
export function replacedTail({ stored, view }: OpenTurn, turnId: string | undefined): RewindRequest {
  const { epoch, rev, next } = view.stored;
  const start = answerStart(stored);
  const to = stored[start]!.position!;
  const isEnd = stored.at(-1)!.position === next - 1 && next - to === stored.length - start;
  const forget = stored.slice(start).flatMap(({ record }) => identifyRecord(record)?.id ?? []);
  const first = stored[0]!.position!;
  const turns = turnId === undefined ? [] : [{ name: turnNameOf(turnId), count: start, first }];
  return { epoch, rev, next: isEnd ? next : 0, to: isEnd ? to : 0, forget, turns };
}
