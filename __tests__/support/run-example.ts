import { execFile } from "node:child_process";
import { join } from "node:path";

const root = join(__dirname, "../..");

/** What a program of examples/ printed, and how it ended. */
export interface ExampleRun {
  readonly exitCode: number;
  readonly output: string;
  readonly errors: string;
}

/**
 * Runs a program of examples/ as a user would, in a process of its own; `environment` is added to this process's,
 * without the keys of a real model.
 */
export function runExample(
  path: string,
  { args = [], environment = {} }: { args?: readonly string[]; environment?: Record<string, string> } = {},
): Promise<ExampleRun> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => name !== "OPENAI_API_KEY" && name !== "REDIS_URL"),
  );
  return new Promise((resolve) => {
    const options = { cwd: root, env: { ...inherited, ...environment } };
    execFile(
      process.execPath,
      ["--import", "tsx", join("examples", path), ...args],
      options,
      (error, output, errors) => {
        const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
        resolve({ exitCode, output, errors });
      },
    );
  });
}
