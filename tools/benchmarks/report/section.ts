import type { TopLevelSpec } from "vega-lite";
import type { PrivateRedis } from "../../testkit/servers/redis-server.js";
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

/** Times as lines, x and y logarithmic. */
export interface Chart {
  /** The question that it answers. */
  readonly title: string;
  readonly xLabel: string;
  readonly lines: readonly { readonly name: string; readonly points: readonly (readonly [x: number, y: number])[] }[];
}

/** A picture of any other kind. */
export interface Picture {
  /** The name of its file, without an ending. */
  readonly file: string;
  /** What it shows, for those who cannot see it. */
  readonly alt: string;
  /** A Vega-Lite specification without colours of its own, 600 pixels wide. */
  readonly spec: TopLevelSpec;
}

/** Something that was meant to hold. */
export interface Target {
  readonly what: string;
  readonly wanted: string;
  readonly got: string;
  readonly holds: boolean;
}

/** One line of the table in docs/figures.md. */
export interface Headline {
  readonly what: string;
  /** The README shows it too. */
  readonly inReadme?: boolean | undefined;
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
  readonly pictures?: readonly Picture[];
  readonly targets?: readonly Target[];
  readonly headlines?: readonly Headline[];
}

/** One line of a comparison: all contenders on the same work, ours first. */
export interface Case {
  readonly name: string;
  readonly measured: readonly Measured[];
}
