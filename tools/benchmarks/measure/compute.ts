import { do_not_optimize, measure } from "mitata";
import { quantile, type Measured } from "./statistics.js";

/** A piece of computing that needs no server and can run again and again on the same input. */
export interface Computation {
  readonly name: string;
  readonly run: () => unknown;
}

/** Times by mitata, in several turns of all computations, so that none has a better moment than the others. */
export async function compute(
  computations: readonly Computation[],
  { turns, milliseconds }: { readonly turns: number; readonly milliseconds: number },
): Promise<Measured[]> {
  const samples = computations.map((): number[] => []);
  const parts = computations.map((): number[] => []);
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [index, { run }] of computations.entries()) {
      const stats = await measure(async () => do_not_optimize(await run()), {
        min_cpu_time: milliseconds * 1e6,
        min_samples: 3,
        warmup_samples: 1,
      });
      samples[index]!.push(...stats.samples.map((nanoseconds) => nanoseconds / 1e6));
      parts[index]!.push(stats.p50 / 1e6);
    }
  }
  return computations.map(({ name }, index) => {
    const times = samples[index]!;
    return {
      contender: name,
      median: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      samples: times.length,
      parts: parts[index]!,
    };
  });
}
