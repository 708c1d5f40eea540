import { digits } from "./format.js";
import type { Case, Chart, Picture } from "./section.js";

/** The medians of cases as lines, one a contender. */
export function chartOf(
  title: string,
  xLabel: string,
  { cases, xs }: { readonly cases: readonly Case[]; readonly xs: readonly number[] },
): Chart {
  const names = [...new Set(cases.flatMap(({ measured }) => measured.map(({ contender }) => contender)))];
  const lines = names.map((name) => ({
    name,
    points: cases.flatMap(({ measured }, index) => {
      const found = measured.find(({ contender }) => contender === name);
      return found === undefined ? [] : [[xs[index]!, found.median] as const];
    }),
  }));
  return { title, xLabel, lines };
}

/** The medians of cases in milliseconds as bars beside each other, with their values; the axis begins at zero. */
export function barsOf(
  { file, title, xLabel }: { readonly file: string; readonly title: string; readonly xLabel: string },
  cases: readonly Case[],
): Picture {
  const values = cases.flatMap(({ name, measured }) =>
    measured.map(({ contender, median }) => ({ group: name, name: contender, value: median, label: digits(median) })),
  );
  const names = [...new Set(values.map(({ name }) => name))];
  const order = { sort: cases.map(({ name }) => name) };
  const encoding = {
    x: {
      ...{ field: "group", type: "nominal" as const, title: xLabel, ...order },
      axis: { labelAngle: 0, labelFontSize: 13 },
    },
    xOffset: { field: "name", sort: names },
    y: { field: "value", type: "quantitative" as const, title: "ms" },
  };
  const legend = { title: null, orient: "bottom" as const, columns: 2 };
  const color = { field: "name", type: "nominal" as const, sort: names, legend };
  return {
    file,
    alt: `${title}. ${values.map(({ group, name, label }) => `${group}, ${name}: ${label} ms`).join("; ")}.`,
    spec: {
      title,
      width: 600,
      height: 340,
      autosize: { type: "fit", contains: "padding" },
      data: { values },
      layer: [
        { mark: { type: "bar" }, encoding: { ...encoding, color } },
        {
          mark: { type: "text", baseline: "bottom", dy: -3 },
          encoding: { ...encoding, text: { field: "label" } },
        },
      ],
    },
  };
}
