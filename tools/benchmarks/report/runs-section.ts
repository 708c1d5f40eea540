import { loadavg } from "node:os";
import type { EndsOfRuns } from "../measure/ends-of-runs.js";
import type { ServerCost } from "../measure/server-cost.js";
import { quantile } from "../measure/statistics.js";
import { digits, time, whole } from "./format.js";
import type { Section, Target } from "./section.js";

/** Runs of a process, and their readers in another one. */
export interface Scene {
  readonly name: string;
  readonly runs: number;
  readonly readers: number;
  /** Words a second of each run. */
  readonly perSecond: number;
  /** Words of each run. */
  readonly words: number;
}

interface Heard {
  readonly latencies: readonly number[];
  readonly whole: number;
}

/** What a scene took. */
export interface RunsFigures {
  readonly scene: Scene;
  /** Readers in the process of the runs, one each. */
  readonly own: Heard;
  readonly heard: Heard;
  readonly cost: ServerCost;
  /** Of the first run. */
  readonly bytes: { readonly stored: number; readonly text: number; readonly batches: number };
}

/** Milliseconds for which chunks are collected by default. */
const batchMs = 50;

/** The page on runs. */
export function runsSection(figures: readonly RunsFigures[], ends: EndsOfRuns): Section {
  return {
    title: "Runs",
    about:
      "Work that says words at a steady pace, in one process; readers in that process (local) and in another one " +
      `(remote). \`batchMs\` is ${batchMs}, its default. Latency is the time from the word to the reader. Commands ` +
      "count the signs of life and the joins too. " +
      `Load average of the machine at the end: ${digits(loadavg()[0]!)}; latencies are those of such a machine.`,
    tables: [
      {
        title: "Latency, and cost per 1,000 words",
        head: ["", "whole", "local p50 / p99", "remote p50 / p99", "commands", "server", "a run in Redis", "its text"],
        rows: figures.map(row),
      },
      {
        title: "Ends of runs of another process, by a request and by its kill",
        head: ["", "p50", "p99", "longest"],
        rows: [
          ["`stop` to the signal of the run", ...spread(ends.signals)],
          ["`stop` to the end that a reader is told", ...spread(ends.stops)],
          ["kill -9 to `lost` that a reader is told", ...spread(ends.losses)],
          ["kill -9 to the first word of the next run", ...spread(ends.retries)],
        ],
      },
    ],
    targets: targetsOf(figures[0]!, ends),
  };
}

function row({ scene, own, heard, cost, bytes }: RunsFigures): string[] {
  const thousands = (scene.runs * scene.words) / 1_000;
  const { name, runs, readers } = scene;
  return [
    name,
    `${whole(own.whole + heard.whole)} of ${whole(runs + readers)}`,
    latency(own),
    latency(heard),
    whole(Math.round(cost.commands / thousands)),
    time(cost.cpu / 1_000 / thousands),
    `${whole(bytes.stored)} B`,
    `${whole(bytes.text)} B, ${whole(bytes.batches)} batches`,
  ];
}

function latency({ latencies }: Heard): string {
  return `${time(quantile(latencies, 0.5))} / ${time(quantile(latencies, 0.99))}`;
}

function spread(milliseconds: readonly number[]): string[] {
  return [0.5, 0.99, 1].map((share) => time(quantile(milliseconds, share)));
}

function targetsOf({ scene, own, heard, bytes }: RunsFigures, ends: EndsOfRuns): Target[] {
  const { runs, milliseconds, lost, gaps } = ends.outage;
  const atMost = (what: string, wanted: number, got: number, show: (value: number) => string): Target => {
    return { what, wanted: `≤ ${show(wanted)}`, got: show(got), holds: got <= wanted };
  };
  const size = (value: number) => `${whole(value)} B`;
  return [
    atMost("remote latency, p50", batchMs + 5, quantile(heard.latencies, 0.5), time),
    atMost("remote latency, p99", batchMs + 15, quantile(heard.latencies, 0.99), time),
    atMost("local latency, p99", 1, quantile(own.latencies, 0.99), time),
    atMost("writes of a run, a second", 60, bytes.batches / (scene.words / scene.perSecond), (value) => digits(value)),
    atMost("`stop` on another instance to the signal, p99", 50, quantile(ends.signals, 0.99), time),
    atMost("kill -9 to `lost`, and to the next run, longest", 3_000, Math.max(...ends.losses, ...ends.retries), time),
    {
      what: `${runs} runs while Redis is away for ${time(milliseconds)}: lost, with a gap`,
      wanted: "0, 0",
      got: `${lost}, ${gaps}`,
      holds: lost + gaps === 0,
    },
    atMost(
      "a run in Redis: twice its text, and 100 B a batch",
      2 * bytes.text + 100 * bytes.batches,
      bytes.stored,
      size,
    ),
  ];
}
