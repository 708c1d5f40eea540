import type { Command } from "commander";
import type { Screen, Streams } from "./screen.js";

/** A command's environment. */
export interface CommandContext {
  readonly screen: Screen;
  readonly env: Streams["env"];
  /** Aborted by Ctrl-C: the command stops at the next safe point, and says how to resume. */
  readonly signal: AbortSignal;
}

/** A command, and what it does with its options and operands. */
export interface CommandDefinition {
  /** The command's operands and options; its name, its summary and `--json` are added. */
  readonly command: Command;
  /** Returns the exit code. `options` are what the command declares; operands that take several are arrays. */
  run(context: CommandContext, options: unknown, operands: readonly unknown[]): Promise<ExitCode>;
}

/** The meaning of the command's exit codes; also shown by `--help`. */
export const exitCodes = {
  done: 0,
  /** The command did its work and found something in the data: findings, records that cannot be read. */
  findings: 1,
  wrongUse: 2,
  unreachable: 3,
  /** Nothing is wrong, but something could be better. */
  warnings: 4,
  /** Nothing was found to export, import, move or delete. */
  nothing: 5,
  interrupted: 130,
} as const;

/** One of the codes in {@link exitCodes}. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The codes as `--help` shows them. */
export const exitCodeHelp = `
Exit codes:
  0    done
  1    findings or failures in the data
  2    wrong use
  3    Redis cannot be reached
  4    warnings only (doctor, check --warnings)
  5    nothing was found to export, import, move or delete
  130  interrupted`;

/** Says that the user ended a command, and what that means for its result. */
export function interrupted(screen: Screen, sentence: string): ExitCode {
  screen.note(`Interrupted. ${sentence}`);
  return exitCodes.interrupted;
}
