import type { PlannedLane, Scenario } from "./scenario.js";

/** Tells whether a scenario still shows what was found. */
export type Fails = (scenario: Scenario) => Promise<boolean>;

/**
 * The fewest processes, operations and faults with which a scenario still fails: each is left out in turn, until none
 * can be. The rest draws the same numbers as before.
 */
export async function shrunk(scenario: Scenario, fails: Fails): Promise<Scenario> {
  let smallest = scenario;
  for (let hasShrunk = true; hasShrunk;) {
    hasShrunk = false;
    for (const smaller of smallerThan(smallest)) {
      if (await fails(smaller)) {
        smallest = smaller;
        hasShrunk = true;
        break;
      }
    }
  }
  return smallest;
}

/** The scenarios that are smaller by a step, the largest steps first. */
function* smallerThan(scenario: Scenario): Generator<Scenario> {
  const { lanes, faults, order } = scenario;
  for (const process of new Set(lanes.map((lane) => lane.process))) {
    yield { ...scenario, lanes: lanes.filter((lane) => lane.process !== process) };
  }
  for (const lane of lanes) {
    yield { ...scenario, lanes: lanes.filter((each) => each !== lane) };
  }
  for (const deviation of order ?? []) {
    yield { ...scenario, order: order!.filter((each) => each !== deviation) };
  }
  for (const fault of faults) {
    yield { ...scenario, faults: faults.filter((each) => each !== fault) };
  }
  for (const lane of lanes) {
    for (const operation of lane.operations) {
      const operations = lane.operations.filter((each) => each !== operation);
      yield { ...scenario, lanes: lanes.map((each) => (each === lane ? { ...lane, operations } : each)) };
    }
  }
  yield* withoutPauses(scenario);
}

function* withoutPauses(scenario: Scenario): Generator<Scenario> {
  const isPaused = ({ operations }: PlannedLane) => operations.some(({ pauseMs }) => pauseMs > 0);
  for (const lane of scenario.lanes.filter(isPaused)) {
    const operations = lane.operations.map((operation) => ({ ...operation, pauseMs: 0 }));
    yield { ...scenario, lanes: scenario.lanes.map((each) => (each === lane ? { ...lane, operations } : each)) };
  }
}

/** A scenario as a test to paste into `__tests__/faults`. */
export function testOf(scenario: Scenario, finding: string): string {
  return [
    'import { playScenarios } from "../support/simulations.js";',
    "",
    `test(${JSON.stringify(`seed ${scenario.seed}: ${finding.slice(0, 80)}`)}, async () => {`,
    `  const [played] = await playScenarios([${JSON.stringify(scenario)}]);`,
    "  expect(played!.findings).toEqual([]);",
    "});",
  ].join("\n");
}
