import type { ReadViewOptions, SessionView } from "../contract/session-reads.js";
import type { LessenedTurn, StoredTurn, TurnMark } from "../contract/turns.js";
import { digestLength } from "../redis/stored-fields.js";
import { idHash } from "../redis/keys.js";

/** The concatenated hashes of ids, as scripts take them. */
export function hashesOf(ids: readonly string[]): string {
  return ids.map(idHash).join("");
}

/** The name of each turn and the number of records that it loses, as scripts take them. */
export function lossesOf(turns: readonly LessenedTurn[] | undefined = []): string[] {
  return turns.flatMap(({ name, removed }) => [name, String(removed)]);
}

/** The beginning of a mark, before the position: `T` if the turn is done, else `t`, and the number of messages. */
export function sizesOf({ done, count }: Pick<TurnMark, "done" | "count">): string {
  return (done ? "T" : "t") + String(count).padStart(digestLength - 1, "0");
}

/** Parses a field of `ids` as a mark; undefined if it is none. */
export function markFrom(value: string | null | undefined): TurnMark | undefined {
  const [, flag, count, first] = /^([Tt])(\d{7})(\d+)$/.exec(value ?? "") ?? [];
  return flag === undefined ? undefined : { done: flag === "T", count: Number(count), first: Number(first) };
}

/** The looked-up ids and the turn of a read, in that order. */
export function lookedUp(
  { base, next }: SessionView,
  lookups: readonly (string | null)[],
  { ids = [], turn }: ReadViewOptions,
): Pick<SessionView, "positions" | "turn"> {
  const positions = ids.map((_, index) => {
    const position = Number(lookups[index]?.slice(digestLength) ?? NaN);
    return position >= base && position < next ? position : undefined;
  });
  const mark = turn === undefined ? undefined : markFrom(lookups[ids.length]);
  return { positions, ...(mark && { turn: mark }) };
}

/** A stored turn as scripts reply it: done (2: open, and made before), count, first, next, epoch, records. */
export function turnFrom([done, count, first, , , records]: readonly unknown[]): StoredTurn {
  const turn = { done: Number(done) === 1, count: Number(count), first: Number(first), records: records as string[] };
  return Number(done) === 2 ? { ...turn, same: true } : turn;
}
