import type { Picture } from "./section.js";

/** What each target costs and shows, under a budget of some size. */
export interface BudgetCurve {
  readonly name: string;
  readonly points: readonly {
    readonly target: number;
    /** Against the price of never cutting. */
    readonly billed: number;
    /** From 0 to 1. */
    readonly seen: number;
  }[];
}

/**
 * Two curves over the same axis: the price, and what the model still sees. Titles stay short: without a canvas Vega
 * takes a character for 0.8 of its size, and makes the picture as wide.
 */
export function budgetPicture(curves: readonly BudgetCurve[], defaultTarget: number): Picture {
  const values = curves.flatMap(({ name, points }) => points.map((point) => ({ ...point, name })));
  const x = (title: string | null) => ({
    field: "target",
    type: "quantitative" as const,
    title,
    scale: { domain: [20, 100], nice: false },
    axis: { labelExpr: "datum.value + ' %'", values: [20, 30, 40, 50, 60, 70, 80, 90, 100], grid: false },
  });
  const panel = (field: "billed" | "seen", title: string, axis: { format?: string; labelExpr?: string }) => ({
    title,
    width: 520,
    height: 190,
    layer: [
      {
        data: { values: [{ target: defaultTarget }] },
        mark: { type: "rule" as const, strokeDash: [4, 4], color: "gray" },
        encoding: { x: x(field === "seen" ? "target, as a share of the budget (dashed: the default)" : null) },
      },
      {
        data: { values },
        mark: { type: "line" as const, point: { size: 25 }, strokeWidth: 2 },
        encoding: {
          x: x(field === "seen" ? "target, as a share of the budget (dashed: the default)" : null),
          y: { field, type: "quantitative" as const, title: null, scale: { zero: true }, axis },
          color: {
            field: "name",
            type: "nominal" as const,
            sort: curves.map(({ name }) => name),
            legend: { title: "Budget", orient: "bottom" as const, columns: 2 },
          },
        },
      },
    ],
  });
  return {
    file: "what-a-budget-costs",
    alt:
      "Price of the prompt tokens, and the share of earlier messages that the model still sees, by the target of the " +
      "token reducer. Both rise with the target; above 80 to 85 % the price rises much faster.",
    spec: {
      vconcat: [
        panel("billed", "Price of the prompts, against never cut", { labelExpr: "datum.value + ' ×'" }),
        panel("seen", "Share of what was said that the model sees", { format: ".0%" }),
      ],
    },
  };
}
