import type { Case, Chart } from "./section.js";

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
