/** The figures that have to be 0. */
export const figureNames = [
  "lost",
  "doubled",
  "torn",
  "reordered",
  "invalidViews",
  "staleReads",
  "wrongSummaries",
  "wrongForks",
  "mixedTurns",
  "wrongLists",
  "wrongErasures",
  "brokenThreads",
  "brokenRuns",
  "unknownReplies",
] as const;

export type FigureName = (typeof figureNames)[number];

/** Something that must not be, or a loss that Redis does not rule out. `amount` is what it adds to its figure. */
export interface Finding {
  readonly figure: FigureName | "failoverLoss" | "failoverLossWithWait";
  readonly session: string;
  readonly amount: number;
  readonly says: string;
}
