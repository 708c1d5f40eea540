import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Scenario } from "../../tools/faults/simulation/scenario.js";

/** What came of a scenario: what was found, and the hash of all that happened. */
export interface Played {
  readonly findings: readonly string[];
  readonly acknowledged: number;
  readonly digest: string;
  /** How many options a schedule had at each choice. */
  readonly options?: readonly number[];
}

/** What another machine has otherwise. */
export interface Machine {
  readonly env: Readonly<Record<string, string>>;
  /** Options of Node.js. */
  readonly flags: readonly string[];
}

/** Plays scenarios one after the other in a process of their own; a number stands for the scenario of that seed. */
export async function playScenarios(
  scenarios: readonly (Scenario | number)[],
  { env, flags }: Machine = { env: {}, flags: [] },
): Promise<Played[]> {
  const program = ["--import", "tsx", "tools/faults/simulation/main.ts", "--scenarios", JSON.stringify(scenarios)];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...program], {
    maxBuffer: 2 ** 26,
    env: { ...process.env, ...env },
  });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Played);
}
