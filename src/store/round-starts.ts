import type { StoredRounds } from "./session-reads.js";

/** True for a record that begins a round. */
export function beginsRound(record: string): boolean {
  return record.startsWith('{"type":"human"');
}

/**
 * The last `count` rounds of a log whose first record is at position `base`. `total` is the number of rounds since the
 * session was created, by default those of this log.
 */
export function lastRounds(
  log: readonly string[],
  {
    base,
    count,
    total,
  }: {
    /** Position of the log's first record. */
    readonly base: number;
    /** Rounds at most; 1 or more. */
    readonly count: number;
    /** Rounds since the session was created. @default those of this log */
    readonly total?: number;
  },
): Omit<StoredRounds, "damaged"> {
  const begins = log.flatMap((record, index) => (beginsRound(record) ? [index] : []));
  const first = begins.at(-count) ?? 0;
  const firstRound = (total ?? begins.length) - Math.min(count, begins.length) + 1;
  return { records: log.slice(first), from: base + first, firstRound };
}
