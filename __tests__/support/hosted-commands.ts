import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { commandEnvironment, type CommandRun, type CommandSetting } from "./built-command.js";

/** The program of the process that runs the commands; built once for all tests. */
export const commandHost = "__tests__/support/command-host.ts";

/** How to run a command in a process that runs others too. */
export interface HostedSetting extends Pick<CommandSetting, "env"> {
  /** True for a command that meets Ctrl-C wherever it looks for it first. @default false */
  readonly isInterrupted?: boolean;
  /** The width of the terminal that the command writes to. @default a pipe */
  readonly columns?: number;
  /** The same of the terminal that errors and notes are written to. */
  readonly errorColumns?: number;
}

/** What a hosted command printed. */
export interface HostedRun extends CommandRun {
  /** Lines that are wider than their terminal; left out for a pipe. */
  readonly wide?: readonly string[];
}

/**
 * Starts one process before the tests of this file that runs their commands, and ends it after them: a process for each
 * command would spend most of its time on loading. What concerns the process itself, its signals for example, is tested
 * on the built command.
 */
export function hostedCommands(): (args: readonly string[], setting?: HostedSetting) => Promise<HostedRun> {
  let host: ChildProcess;
  let answers: Interface;
  let ended: Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  beforeAll(() => {
    host = spawn(process.execPath, [process.env["TEST_COMMAND_HOST"]!], { stdio: ["pipe", "pipe", "inherit"] });
    answers = createInterface({ input: host.stdout! });
    ended = once(host, "close") as Promise<[number | null, NodeJS.Signals | null]>;
    // A process that is dead takes no input; its end says more.
    host.stdin!.on("error", () => undefined);
  });
  afterAll(async () => {
    host.stdin!.end();
    await ended;
  });
  return async (args, { env = {}, isInterrupted = false, columns, errorColumns } = {}) => {
    const asked = new AbortController();
    const answer = once(answers, "line", { signal: asked.signal });
    const death = ended.then(([code, signal]) => {
      throw new Error(`The process that runs the commands ended by itself (${signal ?? code}) at: ${args.join(" ")}`);
    });
    host.stdin!.write(
      `${JSON.stringify({ args, env: commandEnvironment(env), isInterrupted, columns, errorColumns })}\n`,
    );
    try {
      const [line] = (await Promise.race([answer, death])) as [string];
      return JSON.parse(line) as HostedRun;
    } finally {
      asked.abort();
    }
  };
}
