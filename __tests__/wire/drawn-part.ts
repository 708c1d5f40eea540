import { partsOfCells } from "../../tools/testkit/wire-matrix/parts.js";

/** The cells of a matrix of requests that this run plays. */
export interface DrawnCells {
  /** Stands in the titles of tests. */
  readonly name: string;
  /** Parts of the cells, counted from 0. */
  readonly parts: readonly number[];
  /** Options of the program that plays them. */
  readonly options: readonly string[];
}

/**
 * One part of the cells, drawn in each run, so that the tests take little time; `WIRE_PARTS` names others, such as
 * `1,2,3`: `.ci/run` plays all of them, in two runs.
 */
export function drawnPart(): DrawnCells {
  const parts = process.env["WIRE_PARTS"] ?? String(Math.floor(partsOfCells * Math.random()));
  const options = ["--parts", parts];
  return { name: `WIRE_PARTS=${parts}`, parts: parts.split(",").map(Number), options };
}
