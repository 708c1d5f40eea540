import { exitCodes, type ExitCode } from "./exit-codes.js";
import type { Screen } from "./screen.js";

/** Says that the user ended a command, and what that means for its result. */
export function interrupted(screen: Screen, sentence: string): ExitCode {
  screen.note(`Interrupted. ${sentence}`);
  return exitCodes.interrupted;
}
