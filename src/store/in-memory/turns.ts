import type { IdentifiedRecord } from "../contract/session-writes.js";
import { marksIn, type StoredTurn, type TurnClaim, type TurnMark, type LessenedTurn } from "../contract/turns.js";
import type { InMemorySession } from "./session.js";

type TurnLog = Pick<InMemorySession, "turns" | "base" | "log">;

/** Returns the turn as it is stored if the claim does not fit it; undefined if it does. */
export function storedTurn(
  session: TurnLog,
  { name, stored }: Pick<TurnClaim, "name" | "stored">,
): StoredTurn | undefined {
  const { turns, base, log } = session;
  const mark = turns.get(name) ?? { done: false, count: 0, first: base + log.length };
  if (!mark.done && mark.count === stored) {
    return undefined;
  }
  const { first, count } = mark;
  return { ...mark, records: log.slice(Math.max(0, first - base), Math.max(0, first - base + count)) };
}

/** Adds `count` to the number of stored records of a turn. */
export function markTurn(
  marks: Map<string, TurnMark>,
  { claim, count, first }: { readonly claim: TurnClaim; readonly count: number; readonly first: number },
): void {
  const { name, done } = claim;
  const mark = marks.get(name);
  if (mark !== undefined || count > 0) {
    marks.set(name, { done, count: (mark?.count ?? 0) + count, first: mark?.first ?? first });
  }
}

/** Forgets the turns that began at or after a position; a turn that keeps records is open again. */
export function reopenTurns(
  marks: Map<string, TurnMark>,
  { to, turns = [] }: { readonly to: number; readonly turns: readonly LessenedTurn[] | undefined },
): void {
  for (const [name, { first }] of marks) {
    if (first >= to) {
      marks.delete(name);
    }
  }
  for (const { name, removed } of turns) {
    const { count = 0, first = 0 } = marks.get(name) ?? {};
    if (count <= removed) {
      marks.delete(name);
    } else {
      marks.set(name, { done: false, count: count - removed, first });
    }
  }
}

/** Rebuilds the marks from the records, and keeps those of turns whose records were discarded. */
export function restoreTurns({ turns, base }: TurnLog, records: readonly (IdentifiedRecord | undefined)[]): void {
  turns.forEach(({ first }, name) => first < base || turns.delete(name));
  for (const [name, mark] of marksIn(records)) {
    turns.set(name, { ...mark, first: base + mark.first });
  }
}
