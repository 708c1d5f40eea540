import { randomOf } from "../../testkit/random.js";
import type { Deviation, Scenario } from "./scenario.js";
import type { Outcome } from "./simulate.js";

/** How far to look. */
export interface Bounds {
  /** Deviations of a schedule from the first one. */
  readonly deviations: number;
  /** Schedules of a scenario. */
  readonly most: number;
  /** Asked before each schedule; true ends the exploration. */
  readonly isOver: () => boolean;
}

/** The outcome of an exploration. */
export interface Explored {
  readonly schedules: number;
  /** True where there is no other schedule within the bound of deviations. */
  readonly isWhole: boolean;
}

/**
 * Plays the schedules of a scenario, each once: at first that without deviations, then those with one, with two. Where
 * there are more than may be played, the seed draws among those with the same number of deviations.
 */
export async function explore(
  scenario: Scenario,
  play: (scheduled: Scenario) => Promise<Outcome>,
  { deviations, most, isOver }: Bounds,
): Promise<Explored> {
  let level: (readonly Deviation[])[] = [[]];
  let schedules = 0;
  for (let depth = 0; depth <= deviations && level.length > 0; depth += 1) {
    const next: (readonly Deviation[])[] = [];
    for (const order of randomOf(scenario.seed, "schedules", level.length).shuffled(level)) {
      if (schedules === most || isOver()) {
        return { schedules, isWhole: false };
      }
      schedules += 1;
      const { options } = await play({ ...scenario, order });
      if (depth < deviations) {
        next.push(...deviating(order, options));
      }
    }
    level = next;
  }
  return { schedules, isWhole: true };
}

/** The schedules that deviate once more, behind the last deviation: so each is reached in one way. */
function deviating(order: readonly Deviation[], options: readonly number[]): (readonly Deviation[])[] {
  const from = (order.at(-1)?.[0] ?? -1) + 1;
  return options
    .slice(from)
    .flatMap((count, index) =>
      Array.from({ length: count - 1 }, (_, option) => [...order, [from + index, option + 1] as const]),
    );
}
