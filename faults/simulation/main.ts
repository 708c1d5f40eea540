/**
 * Simulations of the memory: processes, network and time in one process, by a seed. `--help` shows the options; the
 * exit code is 1 where something was found.
 */
import { createHash } from "node:crypto";
import { parseArgs } from "node:util";
import { focuses } from "../plants/focuses.js";
import { plantNames, type PlantName } from "../plants/plants.js";
import { loadPrograms } from "./load.js";
import type { Scenario } from "./scenario.js";
import { SimulatedServer } from "./server.js";
import { shrunk, testOf } from "./shrink.js";
import { Simulator, type Outcome } from "./simulate.js";
import type { Programs } from "./stage.js";
import { simulateGlobals } from "./virtual-globals.js";

const usage = [
  "npm run simulate:faults -- --seed N            plays one seed, and prints what happened",
  "npm run simulate:faults -- --minutes M         plays seeds from --from (1 by default) on",
  "npm run simulate:faults -- --count C           the same, so many seeds",
  "  [--focus a]     both in worlds such as those in which this plant is looked for",
  "npm run simulate:faults -- --plants a,b | all  plants defects, a minute for each at most",
  "npm run simulate:faults -- --scenarios JSON    plays these scenarios; one line of JSON for each",
  "  [--no-shrink]  leaves what fails as it is",
].join("\n");

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    minutes: { type: "string" },
    count: { type: "string" },
    from: { type: "string", default: "1" },
    focus: { type: "string" },
    plants: { type: "string" },
    scenarios: { type: "string" },
    "no-shrink": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const print = (text: string) => void process.stdout.write(`${text}\n`);
const say = (text: string) => void process.stderr.write(`${text}\n`);

if (
  values.help ||
  [values.seed, values.minutes, values.count, values.plants, values.scenarios].every((each) => each === undefined)
) {
  print(usage);
  process.exit(values.help ? 0 : 2);
}
/** Simulations leave out what the others are planted in: they have no runs. */
const simulated = plantNames.filter((name) => name !== "run-position");
const focus = values.focus === undefined ? undefined : focuses[values.focus as PlantName];
simulateGlobals();
// What is thrown in a simulation is mostly caught, and looking up its place takes longer than the rest.
process.setSourceMapsEnabled(false);
const server = await SimulatedServer.start();
let isSound = true;
if (values.plants !== undefined) {
  isSound = await findPlants(values.plants === "all" ? simulated : plantNames.filter((name) => isNamed(name)));
} else {
  const programs = await loadPrograms(undefined);
  const simulator = new Simulator(server, programs);
  isSound = await (values.scenarios !== undefined
    ? playScenarios(simulator, JSON.parse(values.scenarios) as (Scenario | number)[], programs)
    : values.seed !== undefined
      ? playSeed(simulator, programs.reader.scenarioOf(Number(values.seed), focus))
      : playSeeds(simulator, programs, {
          from: Number(values.from),
          minutes: Number(values.minutes ?? Infinity),
          count: Number(values.count ?? Infinity),
        }));
}
await server.stop();
process.exit(isSound ? 0 : 1);

function isNamed(name: PlantName): boolean {
  return values.plants!.split(",").includes(name);
}

/** A number stands for the scenario of that seed. */
async function playScenarios(simulator: Simulator, all: readonly (Scenario | number)[], { reader }: Programs) {
  for (const each of all) {
    const { history, ...outcome } = await simulator.play(typeof each === "number" ? reader.scenarioOf(each) : each);
    const digest = createHash("sha256").update(history.join("\n")).digest("hex");
    print(JSON.stringify({ ...outcome, digest, lines: history.length }));
  }
  return true;
}

async function playSeed(simulator: Simulator, scenario: Scenario): Promise<boolean> {
  const outcome = await simulator.play(scenario);
  outcome.history.forEach(print);
  return outcome.findings.length === 0 || explain(simulator, scenario, outcome);
}

/** Prints the smallest scenario that shows the same, what happens in it, and a test. */
async function explain(simulator: Simulator, scenario: Scenario, { findings }: Outcome): Promise<false> {
  const kind = kindOf(findings[0]!);
  const fails = async (smaller: Scenario) =>
    (await simulator.play(smaller)).findings.some((says) => kindOf(says) === kind);
  const smallest = values["no-shrink"] ? scenario : await shrunk(scenario, fails);
  const { history } = await simulator.play(smallest);
  print(`Seed ${scenario.seed} fails: ${findings.join("; ").slice(0, 2_000)}\nThe smallest that fails likewise:`);
  history.forEach(print);
  print(`As a test:\n${testOf(smallest, findings[0]!)}`);
  return false;
}

/** The name of a figure or an anomaly. */
function kindOf(finding: string): string {
  return finding.split(/ in |:/)[0]!;
}

async function playSeeds(
  simulator: Simulator,
  { reader }: Programs,
  { from, minutes, count }: { from: number; minutes: number; count: number },
) {
  const begin = performance.now();
  const busy = process.cpuUsage();
  const elapsed = () => (performance.now() - begin) / 1_000;
  let isStopped = false;
  process.once("SIGINT", () => (isStopped = true)).once("SIGTERM", () => (isStopped = true));
  const sum = { seeds: 0, acknowledged: 0, judgedAgain: 0, undecided: 0, failed: [] as number[] };
  for (let seed = from, told = 0; !isStopped && elapsed() < minutes * 60 && seed < from + count; seed += 1) {
    const scenario = reader.scenarioOf(seed, focus);
    const outcome = await simulator.play(scenario);
    sum.seeds += 1;
    sum.acknowledged += outcome.acknowledged;
    sum.judgedAgain += outcome.judgedAgain;
    sum.undecided += outcome.undecided;
    if (outcome.findings.length > 0) {
      sum.failed.push(seed);
      await explain(simulator, scenario, outcome);
    }
    if (elapsed() > told + 15) {
      told = elapsed();
      say(`${sum.seeds} seeds in ${told.toFixed(0)} s, ${sum.failed.length} failed`);
    }
  }
  const { user, system } = process.cpuUsage(busy);
  const rate = (seconds: number) => Number((sum.seeds / seconds).toFixed(2));
  const rates = { seedsPerSecond: rate(elapsed()), seedsPerCpuSecond: rate((user + system) / 1e6) };
  print(JSON.stringify({ from, ...sum, seconds: Math.round(elapsed()), ...rates }));
  return sum.failed.length === 0;
}

/** Plays seeds with each defect until it is found. */
async function findPlants(names: readonly PlantName[]): Promise<boolean> {
  let areFound = true;
  for (const plant of names) {
    const programs = await loadPrograms(plant);
    const simulator = new Simulator(server, programs);
    const begin = performance.now();
    const busy = process.cpuUsage();
    let findings: readonly string[] = [];
    let seed = 0;
    while (findings.length === 0 && performance.now() - begin < 60_000) {
      seed += 1;
      ({ findings } = await simulator.play(programs.reader.scenarioOf(seed, focuses[plant])));
    }
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
    const says = findings.length === 0 ? "NOT FOUND" : `found by ${[...new Set(findings.map(kindOf))].join(", ")}`;
    const { user, system } = process.cpuUsage(busy);
    print(`${plant}: ${says}, seed ${seed}, ${seconds} s, ${((user + system) / 1e6).toFixed(1)} s of CPU`);
    areFound &&= findings.length > 0;
  }
  return areFound;
}
