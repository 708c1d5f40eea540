import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shrunk } from "../../tools/faults/simulation/shrink.js";
import type { PlannedLane, Scenario } from "../../tools/faults/simulation/scenario.js";
import { playScenarios } from "../support/simulations.js";

const count = Number(process.env["SIMULATED_SEEDS"] ?? 2);

test("a seed gives the same on another machine, whatever was simulated before, and nothing is found", async () => {
  const seeds = Array.from({ length: count }, (_, index) => index + 1);
  const folder = mkdtempSync(join(tmpdir(), "lcmem-other-"));
  const env = { TZ: "Pacific/Auckland", LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8", TMPDIR: folder };
  const other = { env, flags: ["--hash-seed=7", "--random-seed=9", "--max-semi-space-size=1"] };
  const [here, there] = await Promise.all([playScenarios(seeds), playScenarios(seeds.toReversed(), other)]).finally(
    () => rmSync(folder, { recursive: true, force: true }),
  );
  const digests = here.map(({ digest }) => digest);
  expect(there.map(({ digest }) => digest).toReversed()).toEqual(digests);
  expect(new Set(digests).size).toBe(count);
  expect([...here, ...there].flatMap(({ findings }) => findings)).toEqual([]);
  expect(here.some(({ acknowledged }) => acknowledged > 0)).toBe(true);
});

interface Failed {
  readonly seed: number;
  readonly cause: string;
  readonly scenario: Scenario;
}

test("what a simulation ever found stays mended", async () => {
  const file = join(import.meta.dirname, "failed-scenarios.json");
  const failed = JSON.parse(readFileSync(file, "utf8")) as readonly Failed[];
  const played = await playScenarios(failed.map(({ scenario }) => scenario));
  expect(played.map(({ findings }) => findings)).toEqual(failed.map(() => []));
  // Who changes an operation may have changed what a number draws: a scenario that does nothing any more finds nothing.
  expect(failed.filter((_, index) => played[index]!.acknowledged === 0)).toEqual([]);
});

test("a scenario that fails shrinks to the operations and faults that it takes", async () => {
  const lane = (process: number, ...names: string[]): PlannedLane => ({
    ...{ process, session: 0 },
    operations: names.map((name) => ({ name, pauseMs: 9, draw: 0 })),
  });
  const fault = (kind: "cut" | "full") => ({ kind, atMs: 1, process: 0, session: 0, forMs: 30, draw: 0 });
  const pace = { short: 1, middle: 1, long: 1 };
  const lanes = [lane(0, "append-plain", "read-view"), lane(1, "clear"), lane(2, "read-view", "rewind", "rewind")];
  const whole: Scenario = { seed: 7, pace, plans: [], lanes, faults: [fault("cut"), fault("full")] };
  const namesIn = ({ lanes: left }: Scenario) => left.flatMap(({ operations }) => operations.map(({ name }) => name));
  const fails = async (scenario: Scenario) =>
    ["append-plain", "rewind"].every((name) => namesIn(scenario).includes(name)) &&
    scenario.faults.some(({ kind }) => kind === "full");
  const smallest = await shrunk(whole, fails);
  expect(smallest.lanes.map(({ process, operations }) => ({ process, operations }))).toEqual([
    { process: 0, operations: [{ name: "append-plain", pauseMs: 0, draw: 0 }] },
    { process: 2, operations: [{ name: "rewind", pauseMs: 0, draw: 0 }] },
  ]);
  expect(smallest.faults).toEqual([fault("full")]);
});
