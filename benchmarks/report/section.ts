import type { PrivateRedis } from "../../__tests__/support/redis-server.js";
import type { Measured } from "../measure/statistics.js";

/** What every suite gets. */
export interface Setting {
  readonly server: PrivateRedis;
  /** A run of seconds that only shows that everything works; its numbers mean little. */
  readonly quick: boolean;
}

/** A table of text. */
export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Lines over a logarithmic x and y. */
export interface Chart {
  readonly title: string;
  readonly xLabel: string;
  readonly lines: readonly { readonly name: string; readonly points: readonly (readonly [x: number, y: number])[] }[];
}

/** Something that was meant to hold. */
export interface Target {
  readonly what: string;
  readonly wanted: string;
  readonly got: string;
  readonly holds: boolean;
}

/** One line of the table in the README. */
export interface Headline {
  readonly what: string;
  readonly ours: string;
  readonly others: string;
  readonly difference: string;
}

/** What a suite found. */
export interface Section {
  readonly title: string;
  /** What was measured and how, and what does not show in the numbers. */
  readonly about: string;
  readonly tables: readonly Table[];
  readonly charts?: readonly Chart[];
  readonly targets?: readonly Target[];
  readonly headlines?: readonly Headline[];
}

/** One line of a comparison: all contenders on the same work, ours first. */
export interface Case {
  readonly name: string;
  readonly measured: readonly Measured[];
}
