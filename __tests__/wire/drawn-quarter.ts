/** The cells of a matrix of requests that this run plays. */
export interface DrawnCells {
  /** Stands in the titles of tests. */
  readonly name: string;
  /** Quarters of the cells, from 0 to 3. */
  readonly quarters: readonly number[];
  /** Options of the program that plays them. */
  readonly options: readonly string[];
}

/**
 * A quarter of the cells that is drawn anew in each run, so that the tests take a quarter of the time; `WIRE_QUARTERS`
 * names others, such as `1,2,3`: `.ci/run` plays all, in two runs.
 */
export function drawnQuarter(): DrawnCells {
  const quarters = process.env["WIRE_QUARTERS"] ?? String(Math.floor(4 * Math.random()));
  const options = ["--quarters", quarters];
  return { name: `WIRE_QUARTERS=${quarters}`, quarters: quarters.split(",").map(Number), options };
}
