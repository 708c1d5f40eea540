import { CommanderError } from "commander";
import { ConfigurationError, EncryptionError, MemoryError, StoreError } from "../src/base/errors.js";
import { isOfConnection, toStoreError } from "../src/store/redis/errors.js";
import { keysVariable } from "./encryption-keys.js";
import { exitCodes, type ExitCode } from "./command.js";

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

/** The error of a command for a LangGraph thread that is not there. */
export function noThread(command: string, threadId: string): DataError {
  return new DataError(`${command}: there is no thread ${JSON.stringify(threadId)}. Check --prefix.`);
}

/** How a command that failed ends: the exit code, and a sentence for the user, if one was not printed already. */
export interface Failure {
  readonly code: ExitCode;
  readonly sentence: string | undefined;
}

const unreachableCodes: ReadonlySet<string> = new Set(["timeout", "unavailable"]);

/** A session's error in the words of the command line, which names no options or methods of the library. */
export function reasonOf(error: MemoryError): string {
  return ownReasonOf(error) ?? error.message;
}

function ownReasonOf(error: MemoryError): string | undefined {
  if (EncryptionError.isInstance(error)) {
    return error.code === "unknown_key"
      ? `encrypted with the key "${error.keyId}", which is not in ${keysVariable}`
      : `a part of it cannot be decrypted with the key "${error.keyId}": ${keysVariable} has another key of that id, ` +
          "or the data was changed or moved in Redis; rebuild --dry-run names the places";
  }
  if (StoreError.isInstance(error) && error.code === "wrong_type") {
    return "a key of it holds another type of value; check says which, and what helps";
  }
  return StoreError.isInstance(error) && error.code === "damaged"
    ? "Redis lost a part of it; check says what, and what helps"
    : undefined;
}

/** An error about one session, in a sentence. */
function sentenceOf(error: MemoryError): string {
  const reason = ownReasonOf(error);
  const { sessionId } = error as { readonly sessionId?: string };
  const subject = sessionId === undefined ? "A session" : `The session ${JSON.stringify(sessionId)}`;
  const verb = EncryptionError.isInstance(error) && error.code === "unknown_key" ? " is" : ":";
  return reason === undefined ? error.message : `${subject}${verb} ${reason}.`;
}

/** Sorts an error by what the user can do about it. An error that should not happen shows its stack. */
export function failureOf(thrown: unknown): Failure {
  // Commands that use the client directly fail with errors of ioredis and of the server.
  const error = isOfConnection(thrown)
    ? toStoreError(thrown, { operation: "ask", sessionId: "" }, { writes: false })
    : thrown;
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
  if (error instanceof DataError || MemoryError.isInstance(error)) {
    return { code: exitCodes.findings, sentence: MemoryError.isInstance(error) ? sentenceOf(error) : error.message };
  }
  return {
    code: exitCodes.findings,
    sentence: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}
