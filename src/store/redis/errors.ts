import type { StoreErrorCode } from "../../base/error-codes.js";
import { MemoryError, StoreError } from "../../base/errors.js";
import { capitalized, sessionLabel } from "../contract/refusals.js";

/** Names the call that failed. */
export interface CallName {
  readonly operation: string;
  /** Empty for a call that concerns an owner, or all sessions. */
  readonly sessionId: string;
  readonly owner?: string;
  /** Subject of the call: a LangGraph thread, whose id is `sessionId`, or long-term memory. @default a session */
  readonly subject?: "thread" | "store";
}

/** Context of a call for its errors. */
export interface CallSetting {
  /** True if the call may have changed something: only then an error speaks of what was written. @default true */
  readonly writes?: boolean;
  /** The server's address, without user and password; undefined where it is not known. */
  readonly server?: string | undefined;
}

/** The beginning of an error's text: the session, thread or owner of the call. */
function subjectOf({ sessionId, owner, subject }: CallName): string {
  if (sessionId === "" && owner === undefined) {
    return "";
  }
  const label = sessionLabel(sessionId === "" ? owner! : sessionId).replace(/^session/, "");
  return `${sessionId === "" ? "Owner" : subject === "thread" ? "Thread" : "Session"}${label}: `;
}

interface Cause {
  readonly pattern: RegExp;
  readonly code: StoreErrorCode;
  readonly retryable: boolean;
  /** `%s` stands for the server. */
  readonly sentence: string;
  /** Outcome of a write, for the error message. */
  readonly ofWrite?: string;
  readonly advice?: string;
}

const notWritten = "nothing was written";
const unknownOutcome = "the outcome is unknown, and the same call again is safe";

// The code may stand anywhere: Redis 6 puts "ERR Error running script …" before the code of an error inside a script.
const causes: readonly Cause[] = [
  {
    pattern: /\bOOM\b/,
    code: "out_of_memory",
    retryable: true,
    sentence: "Redis is out of memory and refused the call",
    ofWrite: notWritten,
    advice: "Raise maxmemory or remove data",
  },
  {
    pattern: /\bREADONLY\b/,
    code: "read_only",
    retryable: true,
    sentence: "%s is a read-only replica",
    ofWrite: notWritten,
    advice: "Connect to the master, or wait until the failover ends",
  },
  {
    pattern: /\bWRONGTYPE\b/,
    code: "wrong_type",
    retryable: false,
    sentence: "a key of the session holds another type of value",
    ofWrite: notWritten,
    advice:
      "If the key is another program's, use another keyPrefix. Else rebuild() restores the session, unless it is the " +
      "log: then only clear() helps",
  },
  {
    // The last two, of Redis 7.0 and of later servers, are what a script meets that uses a refused command.
    pattern: /\b(NOAUTH|WRONGPASS|NOPERM|invalid (username-)?password|the script can't|ACL failure in script)\b/i,
    code: "unavailable",
    retryable: false,
    sentence: "%s refused the user, the password or the permission",
    advice: "Check the credentials and the ACL",
  },
  {
    pattern: /^(MOVED|ASK) /,
    code: "unavailable",
    retryable: true,
    sentence: "another node of the Redis Cluster holds it",
    advice: "Connect with ioredis's Cluster, or try again later if slots are being moved",
  },
  {
    pattern: /\bLOADING\b/,
    code: "unavailable",
    retryable: true,
    sentence: "%s is loading its data; try again later",
  },
  {
    // A server without a connection left says so and closes at once: mostly only the latter is noticed.
    pattern: /\b(EPIPE|ECONNRESET)\b|max number of clients/,
    code: "unavailable",
    retryable: true,
    sentence: "%s closed the connection",
    ofWrite: unknownOutcome,
    advice: "Where it does so at once, it has reached maxclients: raise it, or open fewer connections",
  },
  {
    pattern: /\b(TRYAGAIN|CLUSTERDOWN|MASTERDOWN|BUSY|MISCONF|NOREPLICAS|MOVED|ASK)\b/,
    code: "unavailable",
    retryable: true,
    sentence: "%s cannot serve the call at the moment; try again later",
  },
  {
    // The second one comes from a server that was demoted before WAIT began.
    pattern: /\bUNBLOCKED\b|\bWAIT cannot be used with replica/,
    code: "unavailable",
    retryable: true,
    sentence: "%s lost its role as master while replicas acknowledged the write",
    ofWrite: unknownOutcome,
  },
  {
    pattern: /^Command timed out$/,
    code: "timeout",
    retryable: true,
    sentence: "%s did not reply within the commandTimeout of the client",
    ofWrite: unknownOutcome,
  },
];

const wrongType = causes.find(({ code }) => code === "wrong_type")!;

/** A key with another type, where no rebuild restores one. */
const wrongTypeOf: Readonly<Record<"thread" | "store", Cause>> = {
  thread: {
    ...wrongType,
    sentence: "a key of the thread holds another type of value",
    advice: "If the key is another program's, use another keyPrefix. Else deleteThread() removes the thread",
  },
  store: {
    ...wrongType,
    sentence: "a key of the RedisStore holds another type of value",
    advice: "If the key is another program's, use another keyPrefix. Else remove the key",
  },
};

const unreachable: Cause = {
  pattern: /./,
  code: "unavailable",
  retryable: true,
  sentence: "%s cannot be reached",
  ofWrite: unknownOutcome,
};

const badCertificate: Cause = {
  pattern: /CERT|UNABLE_TO_VERIFY/,
  code: "unavailable",
  retryable: false,
  sentence: "the certificate of %s was refused",
  advice: "Check the host name and the option tls.ca",
};

const failed: Cause = {
  pattern: /./,
  code: "script_failed",
  retryable: false,
  sentence: "%s answered with an error that this package does not know; `cause` holds its text",
};

/** Matches errors after which the same command may succeed within milliseconds. */
const passing = /\b(TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|MOVED|ASK)\b/;

/**
 * Turns an error of ioredis or Redis into a {@link StoreError}; returns errors of this package unchanged.
 */
export function toStoreError(error: unknown, name: CallName, { writes = true, server }: CallSetting = {}): Error {
  if (MemoryError.isInstance(error)) {
    return error;
  }
  const { operation, sessionId } = name;
  const original = rootOf(error);
  const cause = causeOf(original, name);
  const { code, retryable, sentence, ofWrite, advice } = cause;
  const address = server ?? addressIn(original);
  const reason = cause === unreachable || cause === badCertificate ? codeOf(original) : undefined;
  const message = [
    `${subjectOf(name)}${sentence.replace("%s", address === undefined ? "Redis" : `Redis at ${address}`)}`,
    reason === undefined ? "" : ` (${reason})`,
    writes && ofWrite !== undefined ? `; ${ofWrite}` : "",
    advice === undefined ? "." : `. ${advice}.`,
  ].join("");
  const bare = withoutArguments(original);
  return new StoreError(capitalized(message), { code, operation, sessionId, retryable, cause: bare });
}

/** The address that an error of a socket names. */
function addressIn(error: Error): string | undefined {
  const { address, port } = error as { readonly address?: unknown; readonly port?: unknown };
  return typeof address === "string" ? (typeof port === "number" ? `${address}:${port}` : address) : undefined;
}

function causeOf(error: Error, { subject }: CallName): Cause {
  if (badCertificate.pattern.test(codeOf(error) ?? "")) {
    return badCertificate;
  }
  if (subject !== undefined && wrongType.pattern.test(error.message)) {
    return wrongTypeOf[subject];
  }
  return causes.find(({ pattern }) => pattern.test(error.message)) ?? (isReply(error) ? failed : unreachable);
}

/** Makes the error for a call without a reply in time. */
export function timeoutError(
  name: CallName,
  milliseconds: number,
  { writes = true, server }: CallSetting = {},
): StoreError {
  const { operation, sessionId } = name;
  const place = server === undefined ? "Redis" : `Redis at ${server}`;
  const outcome = writes ? `; ${unknownOutcome}` : "";
  const message = `${subjectOf(name)}no reply from ${place} within ${milliseconds} ms${outcome}.`;
  return new StoreError(capitalized(message), { code: "timeout", operation, sessionId, retryable: true });
}

/** Makes the error for a write that too few replicas acknowledged. */
export function replicaError(
  name: CallName,
  { replicas, acknowledgements }: { readonly replicas: number; readonly acknowledgements: number },
): StoreError {
  const { operation, sessionId } = name;
  const message =
    `${subjectOf(name)}written, but only ${acknowledgements} of the ${replicas} replicas asked for ` +
    "acknowledged it; the same call again is safe.";
  return new StoreError(capitalized(message), { code: "unavailable", operation, sessionId, retryable: true });
}

/** Makes the error for a reply that no script of this package gives. */
export function unknownReply(name: CallName): StoreError {
  const { operation, sessionId } = name;
  const message =
    `${subjectOf(name)}Redis gave a reply that this package does not know; ${unknownOutcome}. ` +
    "Check what stands between this process and Redis.";
  return new StoreError(capitalized(message), { code: "script_failed", operation, sessionId });
}

/** A number of a reply, which clients with `stringNumbers` return as text. @throws StoreError `script_failed` */
export function numberIn(reply: unknown, name: CallName): number {
  const isNumber = typeof reply === "number" || (typeof reply === "string" && reply !== "");
  if (!isNumber || !Number.isFinite(Number(reply))) {
    throw unknownReply(name);
  }
  return Number(reply);
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

/** True for an error that Redis replied, false for one of the connection or of the client. */
export function isReply(error: unknown): boolean {
  return rootOf(error).name === "ReplyError" || MemoryError.isInstance(error);
}

/** True for an error that the connection or the server gave, false for one of the program. */
export function isOfConnection(error: unknown): boolean {
  const { name, message, code } = rootOf(error) as Error & { readonly code?: string };
  return (
    !MemoryError.isInstance(error) &&
    (/^(ReplyError|AbortError|MaxRetriesPerRequestError|ClusterAllFailedError)$/.test(name) ||
      /^(Command timed out|Connection is closed\.)$/.test(message) ||
      /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND)/.test(code ?? ""))
  );
}

/** True if the `commandTimeout` of the client itself expired. */
export function isClientTimeout(error: unknown): boolean {
  return rootOf(error).message === "Command timed out";
}

// A transaction names the errors that made it fail, a cluster the error of the node that it asked last.
function rootOf(error: unknown): Error {
  const { previousErrors, lastNodeError } = (error ?? {}) as {
    previousErrors?: readonly Error[];
    lastNodeError?: Error | null;
  };
  const root = previousErrors?.[0] ?? lastNodeError ?? error;
  // Not instanceof: errors of another realm, for example of a test runner's, are none of this realm's.
  return typeof (root as Error | undefined)?.message === "string" ? (root as Error) : new Error(String(root));
}

// ioredis attaches the command with all its arguments, which hold message text or passwords, and some servers repeat
// arguments in the message. node:tls attaches whole certificates.
function withoutArguments(error: Error): Error {
  const message = error.message.replace(/,? with args beginning with:.*$/s, "");
  const bare = new Error(message);
  const code = codeOf(error);
  Object.defineProperty(bare, "name", { value: error.name, enumerable: false });
  Object.defineProperty(bare, "stack", { value: error.stack?.replace(error.message, bare.message), enumerable: false });
  return code === undefined ? bare : Object.assign(bare, { code });
}

/** The code of an error of the connection, for example ECONNREFUSED; ioredis keeps some only in the message. */
function codeOf({ code, name, message }: Error & { readonly code?: unknown }): string | undefined {
  if (name === "ReplyError") {
    return undefined;
  }
  return typeof code === "string" ? code : /\bE[A-Z]{3,}\b/.exec(message)?.[0];
}
