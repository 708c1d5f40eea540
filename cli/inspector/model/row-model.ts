import type { OutlineEntry, SessionState } from "./data.js";
import type { Cut } from "./timeline.js";

/** A row of the conversation: a message, a tool step, or a line between messages that says what happened there. */
export type Row =
  | { readonly kind: "message"; readonly key: string; readonly position: number; readonly round?: number }
  | { readonly kind: "step"; readonly key: string; readonly position: number; readonly results: readonly number[] }
  | { readonly kind: "cut"; readonly key: string; readonly cut: Cut; readonly isCurrent: boolean }
  | { readonly kind: "head"; readonly key: string; readonly place: number }
  | { readonly kind: "lost head"; readonly key: string; readonly count: number }
  | { readonly kind: "later"; readonly key: string; readonly position: number };

/** The data of rows. */
export interface RowSource {
  readonly session: SessionState;
  /** One for each position from `base` on. */
  readonly outline: readonly OutlineEntry[];
  readonly base: number;
  readonly cuts: readonly Cut[];
  /** Messages that were stored at the moment that is shown. */
  readonly end: number;
}

/** The rows up to a moment, oldest first. Linear. */
export function rowsOf({ session, outline, base, cuts, end }: RowSource): Row[] {
  const rows: Row[] = [];
  const made = cuts.filter(({ next }) => next <= end);
  const isNow = end >= session.next;
  const humans = outline.reduce((sum, { role }) => sum + (role === "human" ? 1 : 0), 0);
  let round = session.rounds - humans;
  // Reductions in front of the oldest stored message have no rows between them: only the last one is shown.
  let cut = Math.max(
    0,
    made.findLastIndex(({ start }) => start <= base),
  );
  const addCuts = (position: number) => {
    for (; cut < made.length && made[cut]!.start <= position; cut += 1) {
      const isCurrent = cut === made.length - 1;
      rows.push({ kind: "cut", key: `cut ${made[cut]!.number}`, cut: made[cut]!, isCurrent });
      if (isCurrent) {
        rows.push(...frontRows(session, made[cut]!, { isNow, isLast: made[cut] === cuts.at(-1) }));
      }
    }
  };
  if (made.length === 0 && isNow) {
    rows.push(...headRows(session));
  }
  for (let position = base; position < Math.min(end, base + outline.length); position += 1) {
    addCuts(position);
    const { role, calls } = outline[position - base]!;
    round += role === "human" ? 1 : 0;
    const results = calls === undefined ? [] : resultsOf(position, { outline, base, end });
    if (calls !== undefined) {
      rows.push({ kind: "step", key: `${position}`, position, results });
      position += results.length;
    } else {
      rows.push({ kind: "message", key: `${position}`, position, ...(role === "human" && { round }) });
    }
  }
  addCuts(Infinity);
  if (!isNow) {
    rows.push({ kind: "later", key: "later", position: end });
  }
  return rows;
}

/** The results that follow a message which calls tools. */
function resultsOf(
  position: number,
  { outline, base, end }: Pick<RowSource, "outline" | "base" | "end">,
): readonly number[] {
  const results: number[] = [];
  for (let next = position + 1; next < end && outline[next - base]?.caller === position; next += 1) {
    results.push(next);
  }
  return results;
}

function headRows({ head }: SessionState): Row[] {
  return head.map((_, place) => ({ kind: "head", key: `head ${place}`, place }));
}

/** The head is known of the last reduction only. */
function frontRows(session: SessionState, cut: Cut, { isNow, isLast }: { isNow: boolean; isLast: boolean }): Row[] {
  if (isLast || isNow) {
    return headRows(session);
  }
  return cut.head === 0 ? [] : [{ kind: "lost head", key: "lost head", count: cut.head }];
}
