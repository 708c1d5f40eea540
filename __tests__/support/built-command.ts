import { execFile, spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const root = join(__dirname, "../..");
const script = join(root, "dist", "cli", "main.js");

/** What a command printed, and how it ended. */
export interface CommandRun {
  readonly exitCode: number;
  readonly output: string;
  readonly errors: string;
}

/** How to run a command. */
export interface CommandSetting {
  /** Added to this process's environment, which is given on without `REDIS_URL`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input. */
  readonly input?: string;
}

/** Builds the command into `dist/cli`, once for all tests. */
export async function buildCommandForTests(): Promise<void> {
  const builder = pathToFileURL(join(root, "tools/scripts/build-command.mjs")).href;
  await run(
    ["--input-type=module", "--eval", `(await import("${builder}")).buildCommand("${root}", "${root}/dist/cli")`],
    {},
  );
}

/** Runs the built command as a user would, in a process of its own, and waits for its end. */
export function runCommand(args: readonly string[], setting: CommandSetting = {}): Promise<CommandRun> {
  return run([script, ...args], setting);
}

/** Starts the built command and leaves it running. */
export function startCommand(args: readonly string[], { env = {} }: CommandSetting = {}): ChildProcess {
  return spawn(process.execPath, [script, ...args], {
    env: commandEnvironment(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** The objects that a command printed with `--json`. */
export function jsonLines(output: string): Record<string, unknown>[] {
  const lines = output.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

function run(args: readonly string[], { env = {}, input }: CommandSetting): Promise<CommandRun> {
  return new Promise((resolve, reject) => {
    const options = { env: commandEnvironment(env), maxBuffer: 1e9 };
    const child = execFile(process.execPath, args, options, (error, output, errors) => {
      if (error !== null && typeof error.code !== "number") {
        reject(error);
        return;
      }
      resolve({ exitCode: error === null ? 0 : Number(error.code), output, errors });
    });
    child.stdin?.end(input);
  });
}

/** This process's environment without what names a server, and with `env`. */
export function commandEnvironment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^REDIS_/.test(name));
  return { ...Object.fromEntries(inherited), ...env };
}
