/** A write of a task as it is stored: its place among the task's writes, the channel, and the value as JSON. */
export interface StoredWrite {
  readonly taskId: string;
  readonly taskPath: string;
  /** Below 0 for what LangGraph keeps one of: errors, interrupts, what resumes. */
  readonly index: number;
  readonly channel: string;
  readonly json: unknown;
  /** The base of the record. */
  readonly base: number;
}

/**
 * The writes that count, in the order in which LangGraph applies them. The first of two in one place counts, or below 0
 * the last.
 */
export function writesInOrder(stored: readonly StoredWrite[]): StoredWrite[] {
  const writes = new Map<string, StoredWrite>();
  for (const write of stored) {
    const place = JSON.stringify([write.taskId, write.index]);
    if (write.index < 0 || !writes.has(place)) {
      writes.set(place, write);
    }
  }
  return [...writes.values()].sort(
    (a, b) => compareText(a.taskPath, b.taskPath) || compareText(a.taskId, b.taskId) || a.index - b.index,
  );
}

/** By code points, as Python compares, which sorts the same tasks. */
function compareText(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const difference = left[index]!.codePointAt(0)! - right[index]!.codePointAt(0)!;
    if (difference !== 0) {
      return difference;
    }
  }
  return left.length - right.length;
}
