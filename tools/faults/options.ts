import { parseArgs } from "node:util";
import type { TopologyName } from "../testkit/topologies/topology.js";
import { faultKinds, type FaultKind } from "./plan/fault-plan.js";
import { plantNames, type PlantName } from "./plants/plants.js";

/** The options of a run, from the command line. */
export interface RunOptions {
  readonly seconds: number;
  readonly seed: number;
  readonly topology: TopologyName;
  readonly json: boolean;
  readonly plant: PlantName | undefined;
  /** The kinds of faults to make; undefined for all. */
  readonly only: readonly FaultKind[] | undefined;
  readonly shrink: boolean;
  /** True to keep the journals also of a run that passes. */
  readonly keep: boolean;
  /** Most milliseconds between two operations of a client. */
  readonly thinkMs: number;
}

export const usage = [
  "npm run check:faults -- --seconds N --seed S --topology single|sentinel|cluster",
  "  [--json]             one object instead of a table",
  `  [--plant DEFECT]     ${plantNames.join(" | ")}`,
  "  [--faults a,b]       only these kinds of faults; none for none",
  "  [--no-shrink]        do not look for the smallest set of faults that fails",
  "  [--keep]             keep the journals also of a run that passes, for npm run check:faults:judge",
  "  [--think N]          most milliseconds between two operations of a client, 30 by default",
].join("\n");

const topologies: readonly TopologyName[] = ["single", "sentinel", "cluster"];

/** Reads the command line. Throws an Error that says what is wrong. */
export function runOptions(args: readonly string[]): RunOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "20" },
      seed: { type: "string", default: "1" },
      topology: { type: "string", default: "single" },
      json: { type: "boolean", default: false },
      plant: { type: "string" },
      faults: { type: "string" },
      "no-shrink": { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      think: { type: "string", default: "30" },
    },
  });
  const topology = oneOf("topology", values.topology, topologies);
  const kinds = faultKinds(topology);
  const named = values.faults?.split(",").filter((name) => name !== "" && name !== "none");
  return {
    seconds: wholeNumber("seconds", values.seconds, 1),
    seed: wholeNumber("seed", values.seed, 0),
    topology,
    json: values.json,
    plant: values.plant === undefined ? undefined : oneOf("plant", values.plant, plantNames),
    only: named?.map((name) => oneOf("faults", name, kinds)),
    shrink: !values["no-shrink"],
    keep: values.keep,
    thinkMs: wholeNumber("think", values.think, 0),
  };
}

function wholeNumber(option: string, text: string, least: number): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > 2 ** 32) {
    throw new Error(`--${option} must be a whole number of ${least} or more; got "${text}".`);
  }
  return number;
}

function oneOf<T extends string>(option: string, text: string, values: readonly T[]): T {
  const found = values.find((value) => value === text);
  if (found === undefined) {
    throw new Error(`--${option} must be one of ${values.join(", ")}; got "${text}".`);
  }
  return found;
}
