import { type StoreErrorCode, MemoryError, StoreError } from "../../base/errors.js";
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
  /** Matches the message, or the code of a connection's error. */
  readonly pattern: RegExp;
  /** @default "unavailable" */
  readonly code?: StoreErrorCode;
  /** @default true */
  readonly retryable?: boolean;
  /** `%s` stands for the server, `%k` for what has keys. */
  readonly sentence: string;
  /** Outcome of a write, for the error message. */
  readonly ofWrite?: string;
  /** `%r` stands for the remedy of a wrong type. */
  readonly advice?: string;
}

const notWritten = "nothing was written";
const unknownOutcome = "the outcome is unknown, and the same call again is safe";

// The code may stand anywhere: Redis 6 puts "ERR Error running script …" before the code of an error inside a script.
const causes: readonly Cause[] = [
  {
    pattern: /^[A-Z\d_]*(CERT|UNABLE_TO_VERIFY)[A-Z\d_]*$/,
    retryable: false,
    sentence: "the certificate of %s was refused",
    advice: "Check the host name and the option tls.ca",
  },
  {
    pattern: /\bOOM\b/,
    code: "out_of_memory",
    sentence: "Redis is out of memory and refused the call",
    ofWrite: notWritten,
    advice: "Raise maxmemory or remove data",
  },
  {
    pattern: /\bREADONLY\b/,
    code: "read_only",
    sentence: "%s is a read-only replica",
    ofWrite: notWritten,
    advice: "Connect to the master, or wait until the failover ends",
  },
  {
    pattern: /\bWRONGTYPE\b/,
    code: "wrong_type",
    retryable: false,
    sentence: "a key of the %k holds another type of value",
    ofWrite: notWritten,
    advice: "If the key is another program's, use another keyPrefix. Else %r",
  },
  {
    // The last two, of Redis 7.0 and of later servers, are what a script meets that uses a refused command.
    pattern: /\b(NOAUTH|WRONGPASS|NOPERM|invalid (username-)?password|the script can't|ACL failure in script)\b/i,
    retryable: false,
    sentence: "%s refused the user, the password or the permission",
    advice: "Check the credentials and the ACL",
  },
  {
    pattern: /^(MOVED|ASK) /,
    sentence: "another node of the Redis Cluster holds it",
    advice: "Connect with ioredis's Cluster, or try again later if slots are being moved",
  },
  {
    pattern: /\bLOADING\b/,
    sentence: "%s is loading its data; try again later",
  },
  {
    // A server without a connection left says so and closes at once: mostly only the latter is noticed.
    pattern: /\b(EPIPE|ECONNRESET)\b|max number of clients/,
    sentence: "%s closed the connection",
    ofWrite: unknownOutcome,
    advice: "Where it does so at once, it has reached maxclients: raise it, or open fewer connections",
  },
  {
    pattern: /\b(TRYAGAIN|CLUSTERDOWN|MASTERDOWN|BUSY|MISCONF|NOREPLICAS|MOVED|ASK)\b/,
    sentence: "%s cannot serve the call at the moment; try again later",
  },
  {
    // The second one comes from a server that was demoted before WAIT began.
    pattern: /\bUNBLOCKED\b|\bWAIT cannot be used with replica/,
    sentence: "%s lost its role as master while replicas acknowledged the write",
    ofWrite: unknownOutcome,
  },
  {
    pattern: /^Command timed out$/,
    code: "timeout",
    sentence: "%s did not reply within the commandTimeout of the client",
    ofWrite: unknownOutcome,
  },
];

const unreachable: Cause = { pattern: /./, sentence: "%s cannot be reached", ofWrite: unknownOutcome };

const failed: Cause = {
  pattern: /./,
  code: "script_failed",
  retryable: false,
  sentence: "%s answered with an error that this package does not know; `cause` holds its text",
};

/** Remedies for a key of another type that is nobody else's. */
const remedies = {
  session: "rebuild() restores the session, unless it is the log: then only clear() helps",
  thread: "deleteThread() removes the thread",
  RedisStore: "remove the key",
} as const;

/** Matches errors after which the same command may succeed within milliseconds. */
const passing = /\b(TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|MOVED|ASK)\b/;

/**
 * Turns an error of ioredis or Redis into a {@link StoreError}; returns errors of this package unchanged.
 */
export function toStoreError(error: unknown, name: CallName, { writes = true, server }: CallSetting = {}): Error {
  if (MemoryError.isInstance(error)) {
    return error;
  }
  const original = rootOf(error);
  const reason = codeOf(original);
  const { code, retryable, sentence, ofWrite, advice } = causeOf(original, reason);
  const subject = name.subject === "store" ? "RedisStore" : (name.subject ?? "session");
  const message = [
    sentence.replace("%s", placeOf(server ?? addressIn(original))).replace("%k", subject),
    reason === undefined ? "" : ` (${reason})`,
    writes && ofWrite !== undefined ? `; ${ofWrite}` : "",
    advice === undefined ? "." : `. ${advice.replace("%r", remedies[subject])}.`,
  ].join("");
  return storeError(name, message, { code, retryable, cause: withoutArguments(original, reason) });
}

function storeError(
  name: CallName,
  sentence: string,
  {
    code = "unavailable",
    retryable = true,
    cause,
  }: Pick<Cause, "code" | "retryable"> & { readonly cause?: Error } = {},
): StoreError {
  const { operation, sessionId } = name;
  return new StoreError(capitalized(subjectOf(name) + sentence), { code, operation, sessionId, retryable, cause });
}

function placeOf(server: string | undefined): string {
  return server === undefined ? "Redis" : `Redis at ${server}`;
}

/** The address that an error of a socket names. */
function addressIn(error: Error): string | undefined {
  const { address, port } = error as { readonly address?: unknown; readonly port?: unknown };
  return typeof address === "string" ? (typeof port === "number" ? `${address}:${port}` : address) : undefined;
}

function causeOf(error: Error, code = ""): Cause {
  const cause = causes.find(({ pattern }) => pattern.test(error.message) || pattern.test(code));
  return cause ?? (isReply(error) ? failed : unreachable);
}

/** Makes the error for a call without a reply in time. */
export function timeoutError(
  name: CallName,
  milliseconds: number,
  { writes = true, server }: CallSetting = {},
): StoreError {
  const outcome = writes ? `; ${unknownOutcome}` : "";
  const message = `no reply from ${placeOf(server)} within ${milliseconds} ms${outcome}.`;
  return storeError(name, message, { code: "timeout" });
}

/** Makes the error for a write that too few replicas acknowledged. */
export function replicaError(
  name: CallName,
  { replicas, acknowledgements }: { readonly replicas: number; readonly acknowledgements: number },
): StoreError {
  const count = `only ${acknowledgements} of the ${replicas} replicas asked for`;
  return storeError(name, `written, but ${count} acknowledged it; the same call again is safe.`);
}

/** Makes the error for a reply that no script of this package gives. */
export function unknownReply(name: CallName): StoreError {
  const advice = "Check what stands between this process and Redis.";
  const message = `Redis gave a reply that this package does not know; ${unknownOutcome}. ${advice}`;
  return storeError(name, message, { code: "script_failed", retryable: false });
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
function withoutArguments(error: Error, code: string | undefined): Error {
  const message = error.message.replace(/,? with args beginning with:.*$/s, "");
  const bare = new Error(message);
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
