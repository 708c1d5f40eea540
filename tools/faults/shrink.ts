import { faultKinds, type FaultKind } from "./plan/fault-plan.js";
import type { RunOptions } from "./options.js";

/** Longest run, in seconds, while looking for a smaller set of faults. */
const longest = 60;

/** Runs at most, so that it ends within half an hour; what was found by then is the answer. */
const mostRuns = 20;

/** Tells whether a run with these options fails. */
export type FailsWith = (options: RunOptions) => Promise<boolean>;

/**
 * The smallest set of fault kinds with which the run still fails: halves are left out as long as it fails without them,
 * then single kinds. Undefined if it does not fail again at all, since what threads and networks do is not in the seed.
 */
export async function smallestFaults(options: RunOptions, fails: FailsWith): Promise<FaultKind[] | undefined> {
  const seconds = Math.min(options.seconds, longest);
  let runs = 0;
  const failsWith = async (only: readonly FaultKind[]) => {
    runs += 1;
    return runs <= mostRuns && fails({ ...options, seconds, only });
  };
  let left = [...(options.only ?? faultKinds(options.topology))];
  if (await failsWith([])) {
    return [];
  }
  if (!(await failsWith(left))) {
    return undefined;
  }
  for (
    let size = Math.ceil(left.length / 2);
    size >= 1 && left.length > 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let first = 0; first < left.length && left.length > 1;) {
      const smaller = [...left.slice(0, first), ...left.slice(first + size)];
      if (smaller.length > 0 && (await failsWith(smaller))) {
        left = smaller;
      } else {
        first += size;
      }
    }
  }
  return left;
}
