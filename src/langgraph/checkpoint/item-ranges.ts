/** Runs of positions in the text of one list; more of them are put into items of their own. */
const groupLength = 32;

/** Positions that follow each other; below 0, the items of the call itself: -1 is its first. */
interface Run {
  readonly from: number;
  readonly to: number;
}

/**
 * Positions of items as text: `0-5,9,+0-2`. Numbers with a `+` count from the record's base. Where there are many runs,
 * the first ones stand by 32 in items, `@7`, which later versions of the list share: `itemOf` gives the position of the
 * item with a text.
 */
export function rangesText(positions: readonly number[], itemOf: (text: string) => number): string {
  const runs = runsOf(positions);
  const groups: number[] = [];
  let grouped = 0;
  for (; runs.length - grouped > groupLength; grouped += groupLength) {
    const group = runs.slice(grouped, grouped + groupLength);
    if (group.some(({ from }) => from < 0)) {
      break;
    }
    groups.push(itemOf(group.map(runText).join(",")));
  }
  return [...runsOf(groups).map((run) => `@${runText(run)}`), ...runs.slice(grouped).map(runText)].join(",");
}

/**
 * Reads the text of {@link rangesText}, position by position; `textAt` gives the text of an item, and throws where
 * there is none. Items hold runs only: in one that was changed, what names further items is read as a run.
 */
export function* positionsIn(ranges: string, base: number, textAt: (position: number) => string): Generator<number> {
  for (const [, group, plus, first, last] of ranges.matchAll(/(@?)(\+?)(\d+)(?:-(\d+))?/g)) {
    const start = plus === "+" ? base : 0;
    const to = Number(last ?? first) + start;
    for (let position = Number(first) + start; position <= to; position += 1) {
      if (group === "@") {
        yield* positionsIn(textAt(position).replaceAll("@", ""), 0, textAt);
      } else {
        yield position;
      }
    }
  }
}

function runsOf(positions: readonly number[]): Run[] {
  const runs: { from: number; to: number }[] = [];
  for (const position of positions) {
    const last = runs.at(-1);
    const follows = last !== undefined && position === (last.from < 0 ? last.to - 1 : last.to + 1);
    if (follows && position < 0 === last.from < 0) {
      last.to = position;
    } else {
      runs.push({ from: position, to: position });
    }
  }
  return runs;
}

function runText({ from, to }: Run): string {
  const [first, last] = from < 0 ? [-1 - from, -1 - to] : [from, to];
  return `${from < 0 ? "+" : ""}${first}${first === last ? "" : `-${last}`}`;
}
