/**
 * Simulations of the memory: processes, network and time in one process, by a seed. `--help` shows the options; the
 * exit code is 1 where something was found.
 */
import { createHash } from "node:crypto";
import { parseArgs } from "node:util";
import type { Focus } from "../plan/session-plan.js";
import { focuses } from "../plants/focuses.js";
import { plantNames, type PlantName } from "../plants/plants.js";
import { loadPrograms } from "./load.js";
import { explore, type Bounds } from "./explore.js";
import type { Deviation, Scenario } from "./scenario.js";
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
  "  [--orders]      all these in small worlds, whose requests arrive in every order, with every fault",
  "                  [--deviations 2] from the first order at most, [--most 200] schedules of a world at most",
  "  [--order JSON]  with --seed: one schedule of its small world",
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
    orders: { type: "boolean", default: false },
    order: { type: "string" },
    deviations: { type: "string", default: "2" },
    most: { type: "string", default: "200" },
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
/** Planted in what simulations leave out: they have no runs. */
const needingServers = new Set<PlantName>(["run-position", "thread-erasure", "run-erasure", "item-erasure"]);
const simulated = plantNames.filter((name) => !needingServers.has(name));
const focus = values.focus === undefined ? undefined : focuses[values.focus as PlantName];
simulateGlobals();
// Errors in a simulation are mostly caught, and looking up their places takes longer than the rest.
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
    : values.seed !== undefined && (!values.orders || values.order !== undefined)
      ? playSeed(simulator, scenarioOf(programs, Number(values.seed), focus))
      : playSeeds(simulator, programs, {
          from: Number(values.seed ?? values.from),
          minutes: Number(values.minutes ?? Infinity),
          count: Number(values.count ?? (values.seed === undefined ? Infinity : 1)),
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
  const order = scenario.order === undefined ? "" : `, order ${JSON.stringify(scenario.order)}`;
  print(
    `Seed ${scenario.seed}${order} fails: ${findings.join("; ").slice(0, 2_000)}\nThe smallest that fails likewise:`,
  );
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
  programs: Programs,
  { from, minutes, count }: { from: number; minutes: number; count: number },
) {
  const begin = performance.now();
  const busy = process.cpuUsage();
  const elapsed = () => (performance.now() - begin) / 1_000;
  let isStopped = false;
  process.once("SIGINT", () => (isStopped = true)).once("SIGTERM", () => (isStopped = true));
  const isOver = () => isStopped || elapsed() >= minutes * 60;
  const sum = { seeds: 0, schedules: 0, whole: 0, acknowledged: 0, judgedAgain: 0, undecided: 0 };
  const failed = new Set<number>();
  let told = 0;
  for (let seed = from; !isOver() && seed < from + count; seed += 1) {
    sum.seeds += 1;
    sum.whole += await playWorld(scenarioOf(programs, seed, focus), isOver, async (scenario) => {
      const outcome = await simulator.play(scenario);
      sum.schedules += 1;
      sum.acknowledged += outcome.acknowledged;
      sum.judgedAgain += outcome.judgedAgain;
      sum.undecided += outcome.undecided;
      // Many schedules of a world show the same defect.
      if (outcome.findings.length > 0 && !failed.has(seed)) {
        failed.add(seed);
        await explain(simulator, scenario, outcome);
      }
      if (elapsed() > told + 15) {
        told = elapsed();
        say(`${sum.seeds} seeds, ${sum.schedules} schedules in ${told.toFixed(0)} s, ${failed.size} failed`);
      }
      return outcome;
    });
  }
  const { user, system } = process.cpuUsage(busy);
  const rate = (seconds: number) => Number((sum.schedules / seconds).toFixed(2));
  const rates = { schedulesPerSecond: rate(elapsed()), schedulesPerCpuSecond: rate((user + system) / 1e6) };
  print(JSON.stringify({ from, ...sum, failed: [...failed], seconds: Math.round(elapsed()), ...rates }));
  return failed.size === 0;
}

/** Plays the one schedule of a seed or, with `--orders`, all within the bounds; returns 1 where none was left out. */
async function playWorld(scenario: Scenario, isOver: () => boolean, play: (scheduled: Scenario) => Promise<Outcome>) {
  if (scenario.order === undefined || values.order !== undefined) {
    await play(scenario);
    return 1;
  }
  const bounds: Bounds = { deviations: Number(values.deviations), most: Number(values.most), isOver };
  const { isWhole } = await explore(scenario, play, bounds);
  return isWhole ? 1 : 0;
}

/** The world that a seed stands for, or the small one in which a schedule decides. */
function scenarioOf({ reader }: Programs, seed: number, focused: Focus | undefined): Scenario {
  if (!values.orders && values.order === undefined) {
    return reader.scenarioOf(seed, focused);
  }
  const order = values.order === undefined ? [] : (JSON.parse(values.order) as Deviation[]);
  return { ...reader.smallScenarioOf(seed, focused), order };
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
    let [seed, schedules] = [0, 0];
    const isOver = () => findings.length > 0 || performance.now() - begin > 60_000;
    while (!isOver()) {
      seed += 1;
      await playWorld(scenarioOf(programs, seed, focuses[plant]), isOver, async (scenario) => {
        const outcome = await simulator.play(scenario);
        schedules += 1;
        findings = outcome.findings;
        return outcome;
      });
    }
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
    const says = findings.length === 0 ? "NOT FOUND" : `found by ${[...new Set(findings.map(kindOf))].join(", ")}`;
    const { user, system } = process.cpuUsage(busy);
    const cpu = ((user + system) / 1e6).toFixed(1);
    print(`${plant}: ${says}, seed ${seed}, ${schedules} schedules, ${seconds} s, ${cpu} s of CPU`);
    areFound &&= findings.length > 0;
  }
  return areFound;
}
