/** What one contender took: all times of one case, in milliseconds. */
export interface Measured {
  readonly contender: string;
  readonly median: number;
  readonly p99: number;
  readonly samples: number;
  /** Medians of consecutive parts of the run, oldest first: how much the machine wavered. */
  readonly parts: readonly number[];
}

/**
 * How many times one contender's time another's is, and the smallest and largest such ratio over the parts of the run.
 */
export interface Ratio {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

const parts = 8;

/** The statistics of times in the order in which they were taken. */
export function summarize(contender: string, times: readonly number[]): Measured {
  const size = Math.max(1, Math.ceil(times.length / parts));
  const medians: number[] = [];
  for (let first = 0; first < times.length; first += size) {
    medians.push(quantile(times.slice(first, first + size), 0.5));
  }
  return { contender, median: quantile(times, 0.5), p99: quantile(times, 0.99), samples: times.length, parts: medians };
}

/** Time of `slow` over time of `fast`; the parts of both were taken at the same moments. */
export function ratioOf(slow: Measured, fast: Measured): Ratio {
  const count = Math.min(slow.parts.length, fast.parts.length);
  const ratios = Array.from({ length: count }, (_, index) => slow.parts[index]! / fast.parts[index]!);
  return { value: slow.median / fast.median, low: Math.min(...ratios), high: Math.max(...ratios) };
}

/** The value below which the given share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const [low, high] = [sorted[below] ?? NaN, sorted[Math.min(below + 1, sorted.length - 1)] ?? NaN];
  return low + (high - low) * (at - below);
}
