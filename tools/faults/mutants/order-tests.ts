import type { KnownTest } from "./known-tests.js";

/** How many tests are put in order by what they add to those before; the others follow, the quicker first. */
const greedy = 24;

/**
 * The tests in an order in which each adds much that those before it do not reach, in little time. Probes that few
 * tests reach weigh more, and those in `near`, the probes of the same file, three times as much.
 */
export function inOrder(tests: readonly KnownTest[], near: ReadonlySet<number>): KnownTest[] {
  const reachedBy = new Map<number, number>();
  tests.forEach(({ reached }) => reached.forEach((probe) => reachedBy.set(probe, (reachedBy.get(probe) ?? 0) + 1)));
  const weights = new Map<number, number>();
  for (const [probe, count] of reachedBy) {
    weights.set(probe, (0.02 + Math.log(tests.length / count)) * (near.has(probe) ? 3 : 1));
  }
  const gainOf = ({ reached, ms }: KnownTest) =>
    reached.reduce((sum, probe) => sum + weights.get(probe)!, 0) / (ms + 15);
  const left = tests.map((test) => ({ test, gain: gainOf(test) }));
  const chosen: KnownTest[] = [];
  while (chosen.length < greedy && left.length > 0) {
    // A test's gain only shrinks: the first whose new gain is still the highest is the best.
    left.sort((a, b) => a.gain - b.gain);
    const best = left.pop()!;
    const gain = gainOf(best.test);
    if (gain < (left.at(-1)?.gain ?? 0) * 0.999) {
      left.push({ test: best.test, gain });
      continue;
    }
    chosen.push(best.test);
    best.test.reached.forEach((probe) => weights.set(probe, weights.get(probe)! / 2));
  }
  return [...chosen, ...left.map(({ test }) => test).sort((a, b) => a.ms - b.ms)];
}
