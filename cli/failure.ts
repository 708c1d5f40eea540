import { CommanderError } from "commander";
import { ConfigurationError, EncryptionError, MemoryError, StoreError } from "../src/base/errors.js";
import { keysVariable } from "./keys-variable.js";
import { exitCodes, type ExitCode } from "./exit-codes.js";

/** The user asked for something that cannot be done; `message` says what and how to do it right. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Something in the data stopped the command; `message` says what and where. */
export class DataError extends Error {
  override readonly name = "DataError";
}

/** Redis did not answer; `message` says why, and what to check. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/** The error of a command for a session that is not there. */
export function noSession(command: string, sessionId: string): DataError {
  return new DataError(`${command}: there is no session ${JSON.stringify(sessionId)}. Check --prefix.`);
}

/** How a command that failed ends: the exit code, and a sentence for the user, if one was not printed already. */
export interface Failure {
  readonly code: ExitCode;
  readonly sentence: string | undefined;
}

const unreachableCodes: ReadonlySet<string> = new Set(["timeout", "unavailable"]);

/** A session's error, in the words of the command line. */
export function reasonOf(error: MemoryError): string {
  return EncryptionError.isInstance(error) && error.code === "unknown_key"
    ? `encrypted with the key "${error.keyId}", which is not in ${keysVariable}`
    : error.message;
}

/** Sorts an error by what the user can do about it. An error that should not happen shows its stack. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) {
    // Commander has printed its sentence, or the help that was asked for.
    return { code: error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse, sentence: undefined };
  }
  if (error instanceof UsageError || ConfigurationError.isInstance(error)) {
    return { code: exitCodes.wrongUse, sentence: error.message };
  }
  if (error instanceof UnreachableError) {
    return { code: exitCodes.unreachable, sentence: error.message };
  }
  if (StoreError.isInstance(error) && unreachableCodes.has(error.code)) {
    return { code: exitCodes.unreachable, sentence: `${error.message} Check the server, and --url or REDIS_URL.` };
  }
  if (EncryptionError.isInstance(error)) {
    const session = error.sessionId === undefined ? "A session" : `The session ${JSON.stringify(error.sessionId)}`;
    const isUnknown = error.code === "unknown_key";
    return { code: exitCodes.findings, sentence: isUnknown ? `${session} is ${reasonOf(error)}.` : error.message };
  }
  if (error instanceof DataError || MemoryError.isInstance(error)) {
    return { code: exitCodes.findings, sentence: error.message };
  }
  return {
    code: exitCodes.findings,
    sentence: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}
