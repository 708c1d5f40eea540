import { MemoryError, StoreError, type StoreErrorCode } from "../../errors.js";
import { sessionLabel } from "../refusals.js";

/** Names the call that failed. */
export interface CallName {
  readonly operation: string;
  readonly sessionId: string;
}

interface Cause {
  readonly pattern: RegExp;
  readonly code: StoreErrorCode;
  readonly retryable: boolean;
  readonly sentence: string;
}

// The code may stand anywhere: Redis 6 puts "ERR Error running script …" before the code of an error inside a script.
const causes: readonly Cause[] = [
  {
    pattern: /\bOOM\b/,
    code: "out_of_memory",
    retryable: true,
    sentence: "Redis is out of memory and refused the write; nothing was written. Raise maxmemory or remove data",
  },
  {
    pattern: /\bREADONLY\b/,
    code: "read_only",
    retryable: true,
    sentence:
      "this server is a read-only replica; nothing was written. Connect to the master, or wait until the failover ends",
  },
  {
    pattern: /\bWRONGTYPE\b/,
    code: "wrong_type",
    retryable: false,
    sentence:
      "a key of the session holds another type of value; nothing was written. Use another keyPrefix, or delete the key",
  },
  {
    pattern: /\b(NOAUTH|WRONGPASS|NOPERM|invalid username-password|invalid password)\b/i,
    code: "unavailable",
    retryable: false,
    sentence: "Redis refused the user, the password or the permission; check the credentials and the ACL",
  },
  {
    pattern: /\b(TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|BUSY|MISCONF|NOREPLICAS|MOVED|ASK)\b/,
    code: "unavailable",
    retryable: true,
    sentence: "Redis cannot serve the call at the moment; try again later",
  },
  {
    pattern: /^Command timed out$/,
    code: "timeout",
    retryable: true,
    sentence: "the commandTimeout of the client expired; the outcome is unknown, and the same call again is safe",
  },
];

const unreachable: Cause = {
  pattern: /./,
  code: "unavailable",
  retryable: true,
  sentence: "Redis cannot be reached; the outcome is unknown, and the same call again is safe",
};

const failed: Cause = {
  pattern: /./,
  code: "script_failed",
  retryable: false,
  sentence: "Redis answered with an error",
};

/** Matches errors after which the same command may succeed within milliseconds. */
const passing = /\b(TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|MOVED|ASK)\b/;

/** Turns an error of ioredis or Redis into a {@link StoreError}; returns errors of this package unchanged. */
export function toStoreError(error: unknown, { operation, sessionId }: CallName): Error {
  if (MemoryError.isInstance(error)) {
    return error;
  }
  const original = rootOf(error);
  const known = causes.find(({ pattern }) => pattern.test(original.message));
  const { code, retryable, sentence } = known ?? (original.name === "ReplyError" ? failed : unreachable);
  const message = `${operation} of ${sessionLabel(sessionId)}: ${sentence} (${shown(original)}).`;
  return new StoreError(message, { code, operation, sessionId, retryable, cause: withoutArguments(original) });
}

/** Makes the error for a call without a reply in time. */
export function timeoutError({ operation, sessionId }: CallName, milliseconds: number): StoreError {
  const message =
    `${operation} of ${sessionLabel(sessionId)}: no reply from Redis within ${milliseconds} ms; ` +
    "the outcome is unknown, and the same call again is safe.";
  return new StoreError(message, { code: "timeout", operation, sessionId, retryable: true });
}

/** Makes the error for a write that too few replicas acknowledged. */
export function replicaError(
  { operation, sessionId }: CallName,
  { asked, given }: { readonly asked: number; readonly given: number },
): StoreError {
  const message =
    `${operation} of ${sessionLabel(sessionId)}: written, but only ${given} of the ${asked} replicas asked for ` +
    "acknowledged it; the same call again is safe.";
  return new StoreError(message, { code: "unavailable", operation, sessionId, retryable: true });
}

/** True for a temporary refusal: a slot that migrates, a server that loads its data. */
export function isPassing(error: unknown): boolean {
  return passing.test(rootOf(error).message);
}

/** True if the server has not cached the script, or lost it. */
export function isUnknownScript(error: unknown): boolean {
  return rootOf(error).message.startsWith("NOSCRIPT");
}

/** True if another node serves the slot. */
export function isRedirection(error: unknown): boolean {
  return /^(MOVED|ASK) /.test(rootOf(error).message);
}

function rootOf(error: unknown): Error {
  const { previousErrors } = error as { previousErrors?: readonly Error[] };
  const root = previousErrors?.[0] ?? error;
  return root instanceof Error ? root : new Error(String(root));
}

// ioredis attaches the command with all its arguments, which hold message text.
function withoutArguments({ name, message, stack }: Error): Error {
  const bare = new Error(message);
  Object.defineProperty(bare, "name", { value: name, enumerable: false });
  Object.defineProperty(bare, "stack", { value: stack, enumerable: false });
  return bare;
}

function shown({ name, message }: Error): string {
  return name === "ReplyError" ? message.split(/[\s:]/, 1)[0]! : name;
}
