import { compile, type TopLevelSpec } from "vega-lite";
import { parse, View } from "vega";
import type { ReducerSimulation } from "./simulation/simulate-reducers.js";

/** An SVG, 600 pixels wide: for each reducer what it bills, and what the model still saw. */
export async function simulationPicture(results: readonly ReducerSimulation[]): Promise<string> {
  const order = results.map(({ reducer }) => reducer);
  const shares = results.flatMap(({ reducer, questionsSeen, toolResultsSeen }) => [
    { reducer, what: "user messages", share: questionsSeen },
    { reducer, what: "tool results", share: toolResultsSeen },
  ]);
  const y = { field: "reducer", type: "nominal", sort: order, title: null, axis: { labelLimit: 260 } } as const;
  const spec: TopLevelSpec = {
    background: "white",
    vconcat: [
      {
        title: "Billed prompt tokens",
        width: 400,
        data: { values: results.map(({ reducer, billed }) => ({ reducer, billed })) },
        mark: { type: "bar", tooltip: false },
        encoding: { y, x: { field: "billed", type: "quantitative", title: null } },
      },
      {
        title: "Share that the model still saw",
        width: 400,
        data: { values: shares },
        mark: { type: "bar", tooltip: false },
        encoding: {
          y,
          yOffset: { field: "what" },
          x: { field: "share", type: "quantitative", title: null, axis: { format: "%" }, scale: { domain: [0, 1] } },
          color: { field: "what", type: "nominal", title: null, legend: { orient: "bottom" } },
        },
      },
    ],
  };
  return new View(parse(compile(spec).spec), { renderer: "none" }).toSVG();
}
