/** A column of a table. */
export interface Column {
  readonly title: string;
  /** @default "left" */
  readonly align?: "left" | "right";
  /** If the table is wider than the terminal, columns with the lowest `order` are cut first, to `least` columns. */
  readonly cut?: { readonly order: number; readonly least: number };
  /** True for a column that goes where cutting is not enough, the last one first. */
  readonly isSpare?: boolean;
  /** True for the first column where people copy from it: what it has no room for gets a line of its own. */
  readonly isWhole?: boolean;
}

/** Columns of the terminal between two columns of a table. */
export const gap = 2;

/** The columns that a terminal has room for, with the widths that they get there. */
export function fittingColumns<Sized extends Column & { readonly width: number }>(
  columns: readonly Sized[],
  limit: number,
): Sized[] {
  for (let left = columns; ;) {
    const fitting = cutToFit(left, limit);
    const spare = left.findLast(({ isSpare }) => isSpare);
    if (fitting !== undefined || spare === undefined) {
      return fitting ?? squeezed(left, limit);
    }
    left = left.filter((column) => column !== spare);
  }
}

/** Undefined where cutting is not enough. */
function cutToFit<Sized extends Column & { readonly width: number }>(
  columns: readonly Sized[],
  limit: number,
): Sized[] | undefined {
  const fitting = [...columns];
  const orders = [...new Set(columns.flatMap(({ cut }) => cut?.order ?? []))].sort((a, b) => a - b);
  for (const order of orders) {
    for (const [index, column] of fitting.entries()) {
      const surplus = totalOf(fitting) - limit;
      if (column.cut?.order === order && surplus > 0) {
        const least = Math.min(column.width, column.cut.least);
        fitting[index] = { ...column, width: Math.max(least, column.width - surplus) };
      }
    }
  }
  return totalOf(fitting) > limit ? undefined : fitting;
}

/** For a terminal in which no table of these columns can be read: the widest are cut, and the last ones go. */
function squeezed<Sized extends Column & { readonly width: number }>(columns: readonly Sized[], limit: number) {
  const fitting = [...columns];
  while (totalOf(fitting) > limit && fitting.length > 0) {
    const widest = Math.max(...fitting.map(({ width }) => width));
    const index = fitting.findIndex(({ width }) => width === widest);
    if (widest > 1) {
      fitting[index] = { ...fitting[index]!, width: widest - 1 };
    } else {
      fitting.pop();
    }
  }
  return fitting;
}

function totalOf(columns: readonly { readonly width: number }[]): number {
  return columns.reduce((sum, { width }) => sum + width + gap, -gap);
}
