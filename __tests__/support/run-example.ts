import { execFile } from "node:child_process";
import { join } from "node:path";
import { buildPrograms, type BuiltPrograms } from "./built-programs.js";

const root = join(__dirname, "../..");

/** What a program of examples/ printed, and how it ended. */
export interface ExampleRun {
  readonly exitCode: number;
  readonly output: string;
  readonly errors: string;
}

/** How to run an example. */
export interface ExampleSetting {
  readonly args?: readonly string[];
  /** Added to this process's, which is given on without the keys of a real model and without `REDIS_URL`. */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Builds programs of examples/ before the tests of this file, and removes them after; returns a function that runs one
 * as a user would, in a process of its own.
 */
export function builtExamples(
  names: readonly string[],
): (name: string, setting?: ExampleSetting) => Promise<ExampleRun> {
  let programs: BuiltPrograms | undefined;
  beforeAll(async () => {
    programs = await buildPrograms(
      names.map((name) => join("examples", name)),
      { withPackages: true },
    );
  });
  afterAll(() => programs?.remove());
  return (name, setting) => run(programs!.pathOf(join("examples", name)), setting);
}

function run(path: string, { args = [], environment = {} }: ExampleSetting = {}): Promise<ExampleRun> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => name !== "OPENAI_API_KEY" && name !== "REDIS_URL"),
  );
  return new Promise((done) => {
    const options = { cwd: root, env: { ...inherited, ...environment } };
    execFile(process.execPath, [path, ...args], options, (error, output, errors) => {
      const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      done({ exitCode, output, errors });
    });
  });
}
