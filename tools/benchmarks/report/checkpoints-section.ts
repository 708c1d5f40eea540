import { loadavg } from "node:os";
import type { Kept } from "../measure/kept-twice.js";
import { bytesAStep, type Growth } from "../measure/thread-growth.js";
import type { CallTime, readsOf } from "../measure/thread-reads.js";
import { digits, time, whole } from "./format.js";
import type { Picture, Section, Target } from "./section.js";

/** What the program found. */
export interface CheckpointFigures {
  readonly steps: number;
  readonly growths: readonly Growth[];
  readonly agents: readonly CallTime[];
  readonly reads: Awaited<ReturnType<typeof readsOf>>;
  readonly kept: readonly Kept[];
}

/** The page on checkpoints. */
export function checkpointsSection({ steps, growths, agents, reads, kept }: CheckpointFigures): Section {
  return {
    title: "Checkpoints",
    about:
      `A thread of 100 messages of 400 bytes, then ${whole(steps)} steps of an agent of \`createAgent\` with a tool, ` +
      '`durability: "sync"`. `RedisSaver` ran on a server: its memory, its round trips. MemorySaver: the bytes of ' +
      "its serialized values. The others ran their own code on stand-ins that count, because their databases are not " +
      "to be had everywhere: checkpoint-redis (RedisJSON, RediSearch) on a client that counts commands and the JSON " +
      "text of documents, without what the modules' trees and indexes take; checkpoint-postgres on a pool that " +
      "counts statements and the bytes of rows; checkpoint-sqlite on a database that does the same. So they have no " +
      `times. Medians, where nothing else is said. Other programs made up the load average of ` +
      `${digits(loadavg()[0]!)} at the end, so times to compare with a limit are those of the fastest call.`,
    tables: [
      { title: "A step", head: growthHead, rows: growths.map(growthRow) },
      {
        title: "An agent of 20 steps, with a model that takes 2 ms",
        head: ["checkpointer", "time", "fastest of 9", "processor time of the process"],
        rows: agents.map(({ name, passed, fastest, busy }) => [name, time(passed), time(fastest), time(busy)]),
      },
      {
        title: "Calls of RedisSaver: median, fastest of 40, processor time of the process (median)",
        head: ["thread", "getTuple", "list, limit 10", "put"],
        rows: [
          ["1,100 messages", timesText(reads.long.get), "–", timesText(reads.long.put)],
          ...reads.scale.map(({ checkpoints, get, list, put }) => {
            const name = `100 messages, ${whole(checkpoints)} checkpoints`;
            return [name, timesText(get), timesText(list), timesText(put)];
          }),
        ],
      },
      { title: "Who keeps a conversation: 50 turns with two tool calls each", head: keptHead, rows: kept.map(keptRow) },
    ],
    pictures: [growthPicture(growths)],
    targets: targetsOf(growths[0]!, reads),
  };
}

const growthHead = ["", "stored", "a step, first half", "a step, last quarter", "commands a step", "server, a step"];
const keptHead = ["", "messages in the state", "session", "thread", "round trips a turn"];

function growthRow(growth: Growth): string[] {
  const { name, points, commandsAStep, cpuAStep } = growth;
  return [
    name,
    bytesText(points.at(-1)![1]),
    bytesText(bytesAStep(growth, 0.1, 0.5)),
    bytesText(bytesAStep(growth, 0.75, 1)),
    commandsAStep === undefined ? "–" : digits(commandsAStep),
    cpuAStep === undefined ? "–" : time(cpuAStep / 1_000),
  ];
}

function keptRow({ name, inState, sessionBytes, threadBytes, trips }: Kept): string[] {
  return [name, whole(inState), bytesText(sessionBytes), bytesText(threadBytes), digits(trips)];
}

function timesText({ passed, fastest, busy }: CallTime): string {
  return `${time(passed)}, ${time(fastest)}, ${time(busy)}`;
}

function bytesText(bytes: number): string {
  if (bytes <= 0) {
    return "–";
  }
  return bytes >= 1e6 ? `${digits(bytes / 1e6)} MB` : bytes >= 1e3 ? `${digits(bytes / 1e3)} kB` : `${digits(bytes)} B`;
}

function targetsOf(ours: Growth, { long, scale }: CheckpointFigures["reads"]): Target[] {
  const growth = bytesAStep(ours, 0.75, 1);
  const list = scale.at(-1)!.list.fastest;
  const spread = scale.at(-1)!.get.busy / scale[0]!.get.busy;
  return [
    target("bytes stored a step", `≤ 2,500 B`, `${whole(growth)} B`, growth <= 2_500),
    target("getTuple of 1,100 messages, fastest of 40", "≤ 20 ms", time(long.get.fastest), long.get.fastest <= 20),
    target(
      "getTuple from the fewest checkpoints to the most, processor time",
      "≤ 2 ×",
      `${digits(spread)} ×`,
      spread <= 2,
    ),
    target("list with limit 10 of the most checkpoints, fastest of 40", "≤ 5 ms", time(list), list <= 5),
  ];
}

function target(what: string, wanted: string, got: string, holds: boolean): Target {
  return { what, wanted, got, holds };
}

/** The bytes of a thread by step, those of the checkpointers that store states whole and ours. */
function growthPicture(growths: readonly Growth[]): Picture {
  const values = growths.flatMap(({ name, points }) =>
    points.map(([step, bytes]) => ({ name, step, MB: bytes / 1e6 })),
  );
  const sort = growths.map(({ name }) => name);
  return {
    file: "growth-of-a-thread",
    alt:
      "What a thread takes by step of an agent. " +
      `${growths.map(({ name, points }) => `${name}: ${digits(points.at(-1)![1] / 1e6)} MB`).join("; ")}.`,
    spec: {
      title: "What a thread takes, by step of an agent",
      width: 600,
      height: 340,
      autosize: { type: "fit", contains: "padding" },
      data: { values },
      mark: { type: "line", point: true },
      encoding: {
        x: { field: "step", type: "quantitative", title: "step" },
        y: { field: "MB", type: "quantitative", title: "MB", scale: { type: "log" } },
        color: { field: "name", type: "nominal", sort, legend: { title: null, orient: "bottom", columns: 3 } },
      },
    },
  };
}
