import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import type { Done, Task } from "../children/client-process.js";
import { quantile } from "../measure/statistics.js";
import { atLeast, atMost, digits, time, whole } from "../report/format.js";
import { rateHeadline } from "../report/headlines.js";
import type { Section, Setting, Table, Target } from "../report/section.js";
import { names } from "../setting/contenders.js";

const contenders = [names.ours, names.redis, names.community];
const script = fileURLToPath(new URL("../children/client-process.ts", import.meta.url));
/** Milliseconds for which each process plays each package before it is warm, and the first ones of a cold process. */
const [warmUp, coldFor] = [10_000, 1_500];
const firstTurns = 1_000;

/** Figures of each contender, one a repeat. */
type Figures = number[][];

/** Turns a second of 1 to 8 client processes that share a server, warm and cold, and what a process begins with. */
export async function processesSuite({ server, quick }: Setting): Promise<Section> {
  const cleaner = new Redis(server.url);
  const start = (count: number, milliseconds: number) => startProcesses(server.url, count, milliseconds);
  const counts = quick ? [1, 2] : [1, 2, 4, 8];
  const warm: Figures[] = [];
  const cold: Figures[] = [];
  const children = await start(counts.at(-1)!, quick ? 20 : warmUp);
  for (const count of counts) {
    const task = { milliseconds: quick ? 100 : 1_000 };
    const measured = await eachInTurn(quick ? 1 : 5, (name) => rateOf(children.slice(0, count), { ...task, name }));
    warm.push(measured);
    await cleaner.flushdb();
  }
  children.forEach((child) => child.disconnect());
  const fresh = async (count: number, task: Task) => {
    const all = await start(count, 0);
    const done = await Promise.all(all.map((child) => ask(child, task)));
    all.forEach((child) => child.disconnect());
    await cleaner.flushdb();
    return done;
  };
  for (const count of counts.filter((each) => each > 1)) {
    const milliseconds = quick ? 100 : coldFor;
    const rate = async (name: string) => sumOf(await fresh(count, { name, milliseconds })) / (milliseconds / 1_000);
    cold.push(await eachInTurn(quick ? 1 : 3, rate));
  }
  const first: Done[][] = contenders.map(() => []);
  await eachInTurn(quick ? 1 : 5, async (name) => {
    const [done] = await fresh(1, { name, turns: quick ? 10 : firstTurns });
    return first[(contenders as readonly string[]).indexOf(name)]!.push(done!);
  });
  const write: number[] = [];
  await eachInTurn(quick ? 1 : 5, async (name) => {
    const [done] = name === names.ours ? await fresh(1, { name, turns: 1 }) : [];
    return done === undefined ? 0 : write.push(done.stopped);
  });
  cleaner.disconnect();
  return section({ counts, warm, cold, first, stopped: quantile(write, 0.5) });
}

/** Figures of all contenders, who take turns. */
async function eachInTurn(repeats: number, measure: (name: string) => Promise<number>): Promise<Figures> {
  const figures = contenders.map((): number[] => []);
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    for (const [index, name] of contenders.entries()) {
      figures[index]!.push(await measure(name));
    }
  }
  return figures;
}

async function startProcesses(url: string, count: number, milliseconds: number): Promise<ChildProcess[]> {
  const children = Array.from({ length: count }, () =>
    fork(script, [url, String(milliseconds)], { execArgv: ["--import", "tsx"] }),
  );
  await Promise.all(children.map(nextMessage));
  return children;
}

async function rateOf(children: readonly ChildProcess[], task: Task): Promise<number> {
  const done = await Promise.all(children.map((child) => ask(child, task)));
  return (sumOf(done) * 1_000) / task.milliseconds!;
}

function sumOf(done: readonly Done[]): number {
  return done.reduce((sum, { turns }) => sum + turns, 0);
}

function ask(child: ChildProcess, task: Task): Promise<Done> {
  const reply = nextMessage(child) as Promise<Done>;
  child.send(task);
  return reply;
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (code: number | null) => reject(new Error(`A client process stopped with code ${code}.`));
    child.once("exit", fail);
    child.once("message", (message) => {
      child.off("exit", fail);
      resolve(message);
    });
  });
}

interface Found {
  readonly counts: readonly number[];
  readonly warm: readonly Figures[];
  /** For each number of processes but the first. */
  readonly cold: readonly Figures[];
  readonly first: readonly (readonly Done[])[];
  /** The longest stop of the event loop in a first turn. */
  readonly stopped: number;
}

function section({ counts, warm, cold, first, stopped }: Found): Section {
  const perTurn = first.map((done) => done.map(({ turns, cpu }) => cpu / turns));
  const of = (lines: readonly Figures[]) => {
    const [ours, ...others] = lines.at(-1)!.map((values) => quantile(values, 0.5));
    return { ours: ours!, others };
  };
  const what = `turns a second, ${counts.at(-1)} client processes`;
  const cpu = perTurn.map((values) => quantile(values, 0.5));
  return {
    title: "Many processes",
    about:
      "Turns a second (a read and a write of two messages with a time to live) of several client processes, eight " +
      "sessions of 10 to 70 messages at once in each, on one server; median and range of the repeats. Clients and " +
      `server share the machine's cores. Warm: each process has played each package for ${warmUp / 1_000} seconds ` +
      `before. Cold: the first ${coldFor / 1_000} seconds of new processes, until V8 has compiled the code. In tiny ` +
      "sessions a script cannot reach @langchain/redis, whose write is two commands that check nothing.",
    tables: [
      ratesTable("Turns a second by number of client processes, warm", counts, warm),
      ratesTable("Turns a second by number of client processes, cold", counts.slice(1), cold),
      {
        title: `The first ${whole(firstTurns)} turns of a process, µs of its processor time each`,
        head: ["", ...contenders],
        rows: [["a turn", ...perTurn.map((values) => shown(values))]],
      },
    ],
    targets: [
      ...[2, 8]
        .filter((count) => counts.includes(count))
        .flatMap((count) => rateTargets(count, warm[counts.indexOf(count)]!)),
      atMost(
        `the first ${whole(firstTurns)} turns of a process, against the slower peer`,
        1.6,
        cpu[0]! / Math.max(cpu[1]!, cpu[2]!),
      ),
      {
        what: "longest stop of the event loop in the first turn of a process",
        wanted: "≤ 15 ms",
        got: time(stopped),
        holds: stopped <= 15,
      },
    ],
    headlines: [
      rateHeadline({ ...of(warm), what: `${what} that have run for ten seconds`, inReadme: true }),
      rateHeadline({ ...of(cold), what: `${what} in their first second and a half`, inReadme: true }),
    ],
  };
}

function rateTargets(count: number, rates: Figures): Target[] {
  const [ours, redis, community] = rates.map((values) => quantile(values, 0.5));
  return [
    atLeast(`turns a second, ${count} client processes, warm, against @langchain/redis`, 0.9, ours! / redis!),
    atLeast(`turns a second, ${count} client processes, warm, against @langchain/community`, 1.2, ours! / community!),
  ];
}

function ratesTable(title: string, counts: readonly number[], lines: readonly Figures[]): Table {
  const rows = lines.map((rates, line) => {
    const [ours, ...others] = rates.map((values) => quantile(values, 0.5));
    const ratios = others.map((other) => `${digits(ours! / other)} ×`);
    return [String(counts[line]), ...rates.map((values) => shown(values)), ...ratios];
  });
  return {
    title,
    head: ["processes", ...contenders, ...contenders.slice(1).map((name) => `${names.ours} / ${name}`)],
    rows,
  };
}

function shown(values: readonly number[]): string {
  return `${whole(quantile(values, 0.5))} (${whole(Math.min(...values))}–${whole(Math.max(...values))})`;
}
