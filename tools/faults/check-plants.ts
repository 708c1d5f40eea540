/**
 * Plants each defect in turn and sees that the checker finds it. A run begins short and is made longer, with another
 * seed, until the defect is found or the runs have taken a minute. Exits 1 where one is not found.
 */
import type { RunOptions } from "./options.js";
import { plantNames, type PlantName } from "./plants/plants.js";
import { figureNames } from "./checking/finding.js";
import { runOnce } from "./run.js";

/** Seconds in which clients work, of all runs for one defect; servers and processes begin outside of them. */
const patience = 60;

/** Several at a time: a run waits for its servers and its processes more than it computes. */
const atOnce = 2;

/** The names of defects; all without any. */
const asked = process.argv.slice(2);
const names = plantNames.filter((name) => asked.length === 0 || asked.includes(name));
const missed: PlantName[] = [];
await Promise.all(Array.from({ length: atOnce }, () => checkNext()));
process.exit(missed.length === 0 ? 0 : 1);

async function checkNext(): Promise<void> {
  for (let plant = names.shift(); plant !== undefined; plant = names.shift()) {
    const begin = performance.now();
    const found = await catches(plant);
    const all = ((performance.now() - begin) / 1_000).toFixed(0);
    const says = found === undefined ? "NOT FOUND" : `found by ${found.figures} in a run of ${found.seconds} s`;
    process.stdout.write(`${plant}: ${says}, ${all} s with all that it takes\n`);
    if (found === undefined) {
      missed.push(plant);
    }
  }
}

/** By which figures, and in how long a run, it was found; undefined where it was not. */
async function catches(plant: PlantName): Promise<{ figures: string; seconds: number } | undefined> {
  for (let seed = 1, seconds = 6, left = patience; seconds <= left; seed += 1, left -= seconds, seconds += 6) {
    // Some defects show in many races and others under faults.
    const only = seed % 2 === 1 ? [] : undefined;
    const options: RunOptions = {
      ...{ seed, seconds, topology: "single", plant, json: false, only, shrink: false, keep: false, thinkMs: 10 },
    };
    const { figures } = await runOnce(options);
    const { anomalies = 0 } = figures.secondOpinion ?? {};
    const found = figureNames.filter((name) => figures[name] > 0).map((name) => `${name} ${figures[name]}`);
    const all = [...found, ...(anomalies > 0 ? [`${anomalies} anomalies of the second opinion`] : [])];
    if (all.length > 0) {
      return { figures: all.join(", "), seconds };
    }
  }
  return undefined;
}
