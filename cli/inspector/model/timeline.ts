import type { ReductionRow } from "./data.js";

/** A reduction of a session, and where in the log it was made. */
export interface Cut extends ReductionRow {
  /** 1 for the first reduction of the session. */
  readonly number: number;
  /** Messages that were stored when it was made: from this message on the model saw the smaller view. */
  readonly next: number;
}

/** The recorded reductions of a session. */
export interface ReductionLog {
  readonly reductions: readonly ReductionRow[];
  /** How many there were, those included that are no longer remembered. */
  readonly reductionCount: number;
  readonly start: number;
  readonly next: number;
}

/**
 * The reductions that shaped the view, oldest first, each with its place in the log. The view's size before a reduction
 * tells how many messages there were; where the reduction before it is not known, the times of the messages do.
 * Reductions from before messages were removed again are left out. Linear.
 */
export function cutsOf(
  { reductions, reductionCount, start, next }: ReductionLog,
  timeOf: (position: number) => number | undefined,
): Cut[] {
  let cuts: Cut[] = [];
  const forgotten = reductionCount - reductions.length;
  reductions.forEach((reduction, index) => {
    if (reduction.start < (cuts.at(-1)?.start ?? 0)) {
      cuts = [];
    }
    const before = cuts.at(-1);
    const isFirst = before === undefined && forgotten + index === 0;
    const place = placeOf(reduction, { before, isFirst, next, timeOf });
    cuts.push({ ...reduction, number: forgotten + index + 1, next: place });
  });
  return start < (cuts.at(-1)?.start ?? 0) ? [] : cuts;
}

interface PlaceContext {
  readonly before: Cut | undefined;
  readonly isFirst: boolean;
  readonly next: number;
  readonly timeOf: (position: number) => number | undefined;
}

function placeOf(reduction: ReductionRow, { before, isFirst, next, timeOf }: PlaceContext): number {
  const least = Math.max(reduction.start, before?.next ?? 0);
  const { messages } = reduction.before;
  const counted = before !== undefined ? before.start + messages - before.head : isFirst ? messages : undefined;
  if (counted !== undefined && counted >= least && counted <= next) {
    return counted;
  }
  let place = least;
  while (place < next && (timeOf(place) ?? -Infinity) <= reduction.at) {
    place += 1;
  }
  return place;
}

/** The view that the model saw when a number of messages was stored. */
export interface ViewThen {
  /** The last reduction before; undefined where there was none. */
  readonly cut: Cut | undefined;
  readonly start: number;
  /** Messages in front of the log. */
  readonly head: number;
}

/** The view when the log ended before position `end`. */
export function viewAt(end: number, cuts: readonly Cut[], base = 0): ViewThen {
  const cut = cuts.findLast(({ next }) => next <= end);
  return { cut, start: Math.max(cut?.start ?? 0, base), head: cut?.head ?? 0 };
}

/** The reduction at which a message left the log's part of the view, before `end`; undefined where none is known. */
export function leftAt(position: number, end: number, cuts: readonly Cut[]): Cut | undefined {
  return cuts.find(({ start, next }) => position < start && next <= end);
}
