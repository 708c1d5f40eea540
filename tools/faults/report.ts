import { cpus } from "node:os";
import type { Verdict } from "./checking/check-run.js";
import { figureNames, type Finding, type FigureName } from "./checking/finding.js";
import { differencesOf, opinionLines } from "./opinions.js";
import type { Opinion } from "./second-opinion/judge.js";
import type { FaultLog } from "./injection/fault-log.js";
import type { RunOptions } from "./options.js";
import type { TopologyName } from "../testkit/topologies/topology.js";

/** The figures of a run as one object: what `--json` prints. */
export interface Figures extends Readonly<Record<FigureName, number>> {
  readonly seed: number;
  readonly topology: TopologyName;
  readonly seconds: number;
  /** Messages that were acknowledged. */
  readonly acknowledged: number;
  /** Messages that an asynchronous failover lost, by whether a replica had acknowledged them. */
  readonly failoverLosses: { readonly withoutWaitReplicas: number; readonly withWaitReplicas: number };
  /** Numbers of sessions in which the second opinion found something, did not decide, and differs from the checker. */
  readonly secondOpinion?: { readonly anomalies: number; readonly undecided: number; readonly differences: number };
  /** How often each kind of fault was made. */
  readonly faults: Readonly<Record<string, number>>;
}

/** The findings of a run. */
export interface RunReport {
  readonly figures: Figures;
  readonly acknowledgedWithWait: number;
  /** True if a figure that has to be 0 is not. */
  readonly failed: boolean;
  readonly examples: readonly Finding[];
  /** The second opinion in words, with each session of which the two opinions differ. */
  readonly opinion: readonly string[];
  readonly folder: string;
  readonly isKept: boolean;
  /** Failures of the run itself. */
  readonly complaints: readonly string[];
}

/** Makes the figures of what was found. */
export function reportOf({
  options,
  verdict,
  opinion,
  log,
  ...rest
}: {
  readonly options: RunOptions;
  readonly verdict: Verdict;
  readonly opinion: Opinion;
  readonly log: FaultLog;
  readonly seconds: number;
  readonly folder: string;
  readonly complaints: readonly string[];
}): RunReport {
  const { seed, topology } = options;
  const sum = (figure: Finding["figure"]) =>
    verdict.findings.filter((finding) => finding.figure === figure).reduce((total, { amount }) => total + amount, 0);
  const zeros = Object.fromEntries(figureNames.map((name) => [name, sum(name)])) as Record<FigureName, number>;
  const differences = differencesOf(verdict.findings, opinion);
  const { length: anomalies } = opinion.anomalies;
  const failed = figureNames.some((name) => zeros[name] > 0) || anomalies > 0 || verdict.acknowledged === 0;
  const losses = { withoutWaitReplicas: sum("failoverLoss"), withWaitReplicas: sum("failoverLossWithWait") };
  return {
    figures: {
      ...{ seed, topology, seconds: rest.seconds, acknowledged: verdict.acknowledged, ...zeros },
      ...{ failoverLosses: losses, faults: log.counts() },
      secondOpinion: { anomalies, undecided: opinion.undecided.length, differences: differences.length },
    },
    opinion: [...opinionLines(opinion), ...differences],
    acknowledgedWithWait: verdict.acknowledgedWithWait,
    failed,
    examples: examplesOf(verdict.findings),
    ...{ folder: rest.folder, isKept: options.keep },
    complaints: rest.complaints,
  };
}

/** The first of each figure: one defect often makes thousands of findings. */
function examplesOf(findings: readonly Finding[]): Finding[] {
  const names = new Set(findings.map(({ figure }) => figure));
  return [...names].flatMap((name) => findings.filter(({ figure }) => figure === name).slice(0, 5));
}

/** The figures of runs from before the second opinion. */
const unheard = { anomalies: 0, undecided: 0, differences: 0 };

/** The figures for people. */
export function table({ figures, acknowledgedWithWait, examples, opinion, ...run }: RunReport): string {
  const { folder, failed, isKept, complaints } = run;
  const { faults, failoverLosses: losses, secondOpinion = unheard, ...rest } = figures;
  const rows: [string, string][] = [
    ...Object.entries(rest).map(([name, value]) => [name, String(value)] as [string, string]),
    ...Object.entries(secondOpinion).map(
      ([name, value]) => [`second opinion: ${name}`, String(value)] as [string, string],
    ),
    ["acknowledged with waitReplicas", String(acknowledgedWithWait)],
    ["failoverLosses without waitReplicas", String(losses.withoutWaitReplicas)],
    ["failoverLosses with waitReplicas", String(losses.withWaitReplicas)],
    [
      "faults",
      Object.entries(faults)
        .map(([kind, count]) => `${kind} ${count}`)
        .join(", ") || "none",
    ],
    ["cores", String(cpus().length)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    ...rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`),
    ...examples.map(({ figure, session, says }) => `  ${figure} in ${session}: ${says}`),
    ...(secondOpinion.anomalies + secondOpinion.differences > 0 ? opinion.map((line) => `  ${line}`) : []),
    ...complaints.slice(0, 5).map((text) => `  a client said: ${text.trim()}`),
    failed ? `FAILED; the journals are in ${folder}` : `passed${isKept ? `; the journals are in ${folder}` : ""}`,
  ].join("\n");
}
