import { readLog } from "../../store/contract/session-data.js";
import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord, metaOf } from "../../store/codec/decode-record.js";
import { turnNameOf } from "../../store/codec/encode-message.js";
import { refusedMarkOf, roleOf } from "../../conversation/messages/message.js";
import type { StoredTurn, RewindRequest } from "../../store/contract/session-writes.js";
import type { SessionOfMemory } from "./memory-context.js";
import type { StoredEntry } from "./view.js";
import { identifyRecord, lastIdOf } from "../../store/codec/stored-record.js";
import type { SessionView } from "../../store/contract/session-reads.js";

/** A stored message of a turn. */
export type StoredMessage = Pick<StoredEntry, "message" | "record">;

/** A turn returned by an append; with `positions` if records of others stand between its own. */
export interface FoundTurn extends StoredTurn {
  /** Positions of the records, if they are not contiguous. */
  readonly positions?: readonly number[];
}

/**
 * The turn with exactly its own records in the log. A store returns as many records as the turn has, from its first on:
 * if others wrote in between, the last ones are missing, and one round trip reads them.
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
  const { records, from } = await readLog(context.store, ref, { from: turn.first });
  const own = records
    .map((record, index) => ({ record, position: from + index }))
    .filter(({ record }) => metaOf(record).turn === name);
  return {
    ...turn,
    records: own.map(({ record }) => record),
    positions: own.map(({ position }) => position),
  };
}

/** The messages of a turn returned by an append; records of other turns may stand between its own. */
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

/** Index of the first message of a turn after its input; the turn's length if there is none. */
export function answerStart(own: readonly { readonly message: BaseMessage }[]): number {
  const index = own.findIndex(({ message }) => roleOf(message) !== "human" && roleOf(message) !== "system");
  return index < 0 ? own.length : index;
}

/** The messages of a turn behind its input, without the marks of refused requests. */
export function answersOfTurn(own: readonly { readonly message: BaseMessage }[]): BaseMessage[] {
  const answers = own.slice(answerStart(own)).map(({ message }) => message);
  return answers.filter((message) => refusedMarkOf(message) === undefined);
}

/** A turn with an interrupted answer to replace. */
export interface InterruptedTurn {
  /** Its messages in the log, oldest first. */
  readonly own: readonly StoredEntry[];
  /** The session as read. */
  readonly read: Pick<SessionView, "epoch" | "rev" | "next">;
  /** Undefined for a turn without a mark. */
  readonly turnId: string | undefined;
}

/**
 * The cut that replaces a turn's interrupted answer by a retry's; its `next` matches no session that others have
 * written to since, so that nothing else is replaced.
 */
export function replacedTail({ own, read, turnId }: InterruptedTurn): RewindRequest {
  const { epoch, rev, next } = read;
  const start = answerStart(own);
  const to = own[start]!.position!;
  const isEnd = next - to === own.length - start;
  const forget = own.slice(start).flatMap(({ record }) => identifyRecord(record)?.id ?? []);
  const turns = turnId === undefined ? [] : [{ name: turnNameOf(turnId), removed: own.length - start }];
  return { epoch, rev, next: isEnd ? next : 0, ...lastIdOf([own.at(-1)!.record]), to: isEnd ? to : 0, forget, turns };
}
