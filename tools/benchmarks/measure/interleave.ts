import { summarize, type Measured } from "./statistics.js";

/** One of those that are compared. */
export interface Runner<Input = void> {
  readonly name: string;
  /** Makes what a run needs, off the clock. */
  readonly prepare: (round: number) => Input | Promise<Input>;
  readonly run: (input: Input) => unknown;
}

/** How long a comparison takes: `rounds` runs of each, after `warmup` runs that do not count. */
export interface Rounds {
  readonly rounds: number;
  readonly warmup: number;
}

/**
 * Runs of one runner that follow each other, as they do in a process that works: alone, each would pay for caches that
 * the others filled.
 */
const burst = 8;

/**
 * Times of all runners, a few runs of each in turn: whatever the machine does meanwhile, it does to all of them.
 * (mitata and tinybench measure one after the other, which is why they are not used where a server takes part.)
 */
export async function interleave(runners: readonly Runner<never>[], { rounds, warmup }: Rounds): Promise<Measured[]> {
  const times = runners.map((): number[] => []);
  for (let first = -warmup; first < rounds; first += burst) {
    const count = Math.min(burst, rounds - first);
    for (let turn = 0; turn < runners.length; turn += 1) {
      const index = (turn + Math.floor((first + warmup) / burst)) % runners.length;
      const measured = await timesOf(runners[index]!, first + warmup, count);
      times[index]!.push(...measured.slice(Math.max(0, -first)));
    }
  }
  return runners.map(({ name }, index) => summarize(name, times[index]!));
}

async function timesOf(runner: Runner<never>, first: number, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = first; round < first + count; round += 1) {
    const input = (await runner.prepare(round)) as never;
    const begin = performance.now();
    await runner.run(input);
    times.push(performance.now() - begin);
  }
  return times;
}
