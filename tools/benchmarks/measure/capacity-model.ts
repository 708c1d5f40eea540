/** What a session takes: so much, and for each message so much and so much for each byte of its record. */
export interface MemoryModel {
  readonly perSession: number;
  readonly perMessage: number;
  readonly perByte: number;
}

/** A measured session: its messages, the bytes of one record, and what all of it takes in Redis. */
export interface MeasuredSession {
  readonly messages: number;
  readonly recordBytes: number;
  readonly bytes: number;
}

/** What a turn (a read of the view, an append of two) takes: so much, and so much for each message of the view. */
export interface TurnModel {
  readonly cpu: Line;
  readonly bytesIn: Line;
  readonly bytesOut: Line;
}

/** `base + slope × x`. */
export interface Line {
  readonly base: number;
  readonly slope: number;
}

/** The model that fits measured sessions best, by relative error. */
export function fitMemory(sessions: readonly MeasuredSession[]): MemoryModel {
  const rows = sessions.map(({ messages, recordBytes, bytes }) =>
    [1, messages, messages * recordBytes].map((x) => x / bytes),
  );
  const matrix = [0, 1, 2].map((i) => [0, 1, 2].map((j) => rows.reduce((sum, row) => sum + row[i]! * row[j]!, 0)));
  const right = [0, 1, 2].map((i) => rows.reduce((sum, row) => sum + row[i]!, 0));
  const [perSession, perMessage, perByte] = solve(matrix, right);
  return { perSession: perSession!, perMessage: perMessage!, perByte: perByte! };
}

/** Bytes of a session. */
export function sessionBytes(model: MemoryModel, messages: number, recordBytes: number): number {
  return model.perSession + messages * (model.perMessage + model.perByte * recordBytes);
}

/** The line through two points. */
export function lineThrough([x1, y1]: readonly [number, number], [x2, y2]: readonly [number, number]): Line {
  const slope = (y2 - y1) / (x2 - x1);
  return { base: y1 - slope * x1, slope };
}

/** The line's value. */
export function at({ base, slope }: Line, x: number): number {
  return base + slope * x;
}

/** Gauss's elimination for the few unknowns of a fit. */
function solve(matrix: readonly number[][], right: readonly number[]): number[] {
  const rows = matrix.map((row, index) => [...row, right[index]!]);
  for (let column = 0; column < rows.length; column += 1) {
    const pivot = rows.slice(column).reduce((a, b) => (Math.abs(b[column]!) > Math.abs(a[column]!) ? b : a));
    rows.splice(rows.indexOf(pivot), 1);
    rows.splice(column, 0, pivot);
    for (const row of rows) {
      const factor = row[column]! / pivot[column]!;
      if (row !== pivot) {
        row.forEach((_, index) => (row[index]! -= factor * pivot[index]!));
      }
    }
  }
  return rows.map((row, index) => row.at(-1)! / row[index]!);
}
