import type { Command } from "commander";
import type { ExitCode } from "./exit-codes.js";
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
