import { figureNames } from "./checking/finding.js";
import type { Figures } from "./report.js";

/** The figures of several runs side by side, with their sums, as a table in Markdown. */
export function markdownTable(runs: readonly Figures[]): string {
  const rows: (readonly [name: string, valueOf: (run: Figures) => number])[] = [
    ["seconds", ({ seconds }) => seconds],
    ["acknowledged messages", ({ acknowledged }) => acknowledged],
    // Older runs lack the figures that were added since.
    ...figureNames
      .filter((name) => runs.some((run) => run[name] !== undefined))
      .map((name) => [name, (run: Figures) => run[name] ?? 0] as const),
    ...(runs.some(({ secondOpinion }) => secondOpinion !== undefined)
      ? [["second opinion: anomalies", (run: Figures) => run.secondOpinion?.anomalies ?? 0] as const]
      : []),
    ["failoverLosses, without `waitReplicas`", ({ failoverLosses }) => failoverLosses.withoutWaitReplicas],
    ["failoverLosses, with `waitReplicas: 1`", ({ failoverLosses }) => failoverLosses.withWaitReplicas],
    ["faults", ({ faults }) => Object.values(faults).reduce((sum, count) => sum + count, 0)],
  ];
  const kinds = [...new Set(runs.flatMap(({ faults }) => Object.keys(faults)))].sort();
  const faultRows = kinds.map((kind) => [`– ${kind}`, ({ faults }: Figures) => faults[kind] ?? 0] as const);
  const cells = [
    ["", ...runs.map(({ topology, seed }) => `${topology}, seed ${seed}`), "together"],
    ...[...rows, ...faultRows].map(([name, valueOf]) => {
      const values = runs.map(valueOf);
      return [name, ...[...values, values.reduce((sum, value) => sum + value, 0)].map((value) => grouped(value))];
    }),
  ];
  const widths = cells[0]!.map((_, column) => Math.max(3, ...cells.map((row) => row[column]!.length)));
  const padded = (row: readonly string[], fill: string) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!, fill) : cell.padStart(widths[column]!, fill)));
  const line = (row: readonly string[]) => `| ${padded(row, " ").join(" | ")} |`;
  const rule = `| ${padded(["-", ...widths.slice(1).map(() => ":")], "-").join(" | ")} |`;
  return [line(cells[0]!), rule, ...cells.slice(1).map(line)].join("\n");
}

function grouped(value: number): string {
  return value.toLocaleString("en");
}
