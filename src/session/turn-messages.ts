import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord, metaOf } from "../codec/decode-record.js";
import { turnNameOf } from "../codec/encode-message.js";
import { roleOf } from "../messages/roles.js";
import type { StoredTurn } from "../store/turns.js";
import type { SessionOfMemory } from "./session-of-memory.js";
import type { StoredEntry } from "./view.js";
import { identifyRecord, lastIdOf } from "../codec/message-ids.js";
import type { SessionView } from "../store/session-reads.js";
import type { RewindRequest } from "../store/session-writes.js";

/** A stored message of a turn. */
export type StoredMessage = Pick<StoredEntry, "message" | "record">;

/** A turn that came back from an append; with `positions` where others' records stand between its own. */
export interface FoundTurn extends StoredTurn {
  /** Positions of the records, where these do not follow each other. */
  readonly positions?: readonly number[];
}

/**
 * The turn with all of its records that are in the log, and no others. A store replies as many records as the turn has,
 * from its first on: where others wrote in between, its last ones are missing. One round trip there, else none.
 */
export async function wholeTurn(
  { ref, context }: Pick<SessionOfMemory, "ref" | "context">,
  turn: StoredTurn,
  turnId: string,
): Promise<FoundTurn> {
  const name = turnNameOf(turnId);
  if (turn.records.length === turn.count && turn.records.every((record) => metaOf(record).turn === name)) {
    return turn;
  }
  const { records, from } = await context.store.readLog(ref, { from: turn.first });
  const own = records
    .map((record, index) => ({ record, position: from + index }))
    .filter(({ record }) => metaOf(record).turn === name);
  return {
    ...turn,
    records: own.map(({ record }) => record),
    positions: own.map(({ position }) => position),
  };
}

/** The messages of a turn that came back from an append: records of other turns may stand between its own. */
export function messagesOfTurn({ records, first, count, positions }: FoundTurn, turnId: string): StoredEntry[] {
  const name = turnNameOf(turnId);
  // Messages discarded by retention are missing at the beginning.
  const from = first + count - records.length;
  return records.flatMap((record, index) => {
    const isOwn = metaOf(record).turn === name;
    return isOwn
      ? [{ record, message: decodeRecord(record).message, position: positions?.[index] ?? from + index }]
      : [];
  });
}

/** Index of the first message of a turn that is not its input; its length where there is none. */
export function answerStart(own: readonly { readonly message: BaseMessage }[]): number {
  const index = own.findIndex(({ message }) => roleOf(message) !== "human" && roleOf(message) !== "system");
  return index < 0 ? own.length : index;
}

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
