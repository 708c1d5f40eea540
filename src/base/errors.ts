/**
 * Codes of {@link StoreError}. `erased`: the session was erased recently, and a guard (a tombstone that expires) keeps
 * late writers from recreating it.
 * @example
 * import { RedisChatMemory, StoreError } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * await memory.history("chat-7").getMessages().catch((error: unknown) => {
 *   if (StoreError.isInstance(error) && error.code === "out_of_memory") {
 *     console.error("Redis is full."); // no retry helps
 *   }
 *   throw error;
 * });
 */
export type StoreErrorCode =
  | "unavailable"
  | "timeout"
  | "out_of_memory"
  | "read_only"
  | "wrong_type"
  | "damaged"
  | "too_large"
  | "erased"
  | "closed"
  | "script_failed";

const brand = Symbol.for("langchain-redis-memory.error");

/**
 * Code, retryability and cause of a {@link MemoryError}.
 * @example
 * import { MemoryError } from "langchain-redis-memory";
 *
 * const refused = new MemoryError("The archive takes no more sessions today.", { code: "quota", retryable: true });
 */
export interface MemoryErrorDetails {
  /** Error code for branching. */
  readonly code: string;
  /** True if the same call may succeed later without a change. @default false */
  readonly retryable?: boolean;
  /** The underlying error. */
  readonly cause?: unknown;
}

/**
 * Base class of every error that this package throws.
 *
 * `code` is stable and meant for branching, `retryable` says whether the same call may succeed later without a change,
 * `cause` is the underlying error. Messages name the option, session or position concerned and the remedy, never
 * message text or secrets. Use `isInstance` and not `instanceof`: an application may load the ESM and the CommonJS
 * build at once.
 * @example
 * import { BudgetError, MemoryError, RecordError, StructureError, SummaryError } from "langchain-redis-memory";
 *
 * export function logLine(error: unknown): string {
 *   if (BudgetError.isInstance(error)) {
 *     return `${error.needed} where ${error.allowed} are allowed`;
 *   }
 *   if (RecordError.isInstance(error)) {
 *     return `${error.code} at ${error.position}`;
 *   }
 *   if (StructureError.isInstance(error)) {
 *     return error.issues.map(({ rule, index }) => `${rule} at ${index}`).join(", ");
 *   }
 *   return SummaryError.isInstance(error) ? `summary ${error.code}` : MemoryError.isInstance(error) ? error.code : "?";
 * }
 */
export class MemoryError extends Error {
  /** Error code for branching; stable between releases. */
  readonly code: string;
  /** True if the same call may succeed later without a change. */
  readonly retryable: boolean;
  /** Names of this error's class and of those above it, for {@link MemoryError.isInstance}. */
  readonly [brand]: readonly string[];

  /** `message` says what happened and what to do; it must not hold message text or secrets. */
  constructor(message: string, { code, retryable = false, cause }: MemoryErrorDetails) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.brandName;
    this[brand] = ["MemoryError", this.name];
    this.code = code;
    this.retryable = retryable;
  }

  /** The class's name as a literal, because bundlers shorten class names. */
  protected static readonly brandName: string = "MemoryError";

  /** True for an error of this class or a subclass, across copies of the package. */
  static isInstance<T extends MemoryError>(this: abstract new (...args: never[]) => T, value: unknown): value is T {
    const names = (value as { [brand]?: unknown } | null | undefined)?.[brand];
    return Array.isArray(names) && names.includes((this as unknown as typeof MemoryError).brandName);
  }
}

/** An invalid option, argument or combination; `option` names it. Thrown before any work is done. */
export class ConfigurationError extends MemoryError {
  protected static override readonly brandName = "ConfigurationError";
  /** Path of the option or argument. */
  readonly option: string;

  /** `option` is the path of the invalid option, `message` the reason and the remedy. */
  constructor(option: string, message: string, cause?: unknown) {
    super(message, { code: "invalid_option", cause });
    this.option = option;
  }
}

/**
 * Redis refused, failed, or did not answer in time.
 *
 * After `timeout` and `unavailable` the outcome of a write is unknown; the same call with the same messages (or the
 * same `turnId`) is safe, because writes are idempotent by message id.
 */
export class StoreError extends MemoryError {
  protected static override readonly brandName = "StoreError";
  declare readonly code: StoreErrorCode;
  /** The store's method, such as `append`. */
  readonly operation: string;
  /** Undefined if the call concerns no single session. */
  readonly sessionId: string | undefined;

  /** `details.operation` is the method of the store that failed. */
  constructor(
    message: string,
    details: Pick<StoreError, "code" | "operation"> & Partial<Pick<StoreError, "sessionId" | "retryable" | "cause">>,
  ) {
    super(message, details);
    this.operation = details.operation;
    this.sessionId = details.sessionId;
  }
}

/**
 * The session is not in the state that the caller expected; nothing was written.
 *
 * `content`: the message id is stored with other content. `position`: the log does not end where `expectedNext` says,
 * and `next` is where it does; or it does not end with the interrupted answer that was to be replaced. `epoch`: the
 * session was cleared, expired or recreated. `stale`: another writer changed the view first (compare-and-set). `busy`:
 * other turns of the session did not end in time. `nested_turn`: the turn would wait for the turn in which it was
 * started (a deadlock). `fenced`: a later turn has begun, with a higher fencing token. `unknown_message`: no message of
 * this id is stored. `other_owner`: the session belongs to another owner; for reads too. `exists`: the id of the copy
 * is in use. `unknown_session`: the session to copy does not exist. `unknown_checkpoint`: the
 * checkpoint that a LangGraph config names is not stored any more.
 */
export class ConflictError extends MemoryError {
  protected static override readonly brandName = "ConflictError";
  declare readonly code:
    | "content"
    | "position"
    | "epoch"
    | "stale"
    | "busy"
    | "nested_turn"
    | "fenced"
    | "exists"
    | "unknown_message"
    | "unknown_session"
    | "unknown_checkpoint"
    | "other_owner";
  /** The session. */
  readonly sessionId: string;
  /** The message in conflict; undefined if the conflict concerns no single message. */
  readonly messageId: string | undefined;
  /** With `position`: the position that the session's next message gets. */
  readonly next: number | undefined;

  /** `retryable` is true for the codes `stale` and `busy`. */
  constructor(
    message: string,
    details: Pick<ConflictError, "code" | "sessionId"> & Partial<Pick<ConflictError, "messageId" | "next">>,
  ) {
    super(message, { code: details.code, retryable: details.code === "stale" || details.code === "busy" });
    this.sessionId = details.sessionId;
    this.messageId = details.messageId;
    this.next = details.next;
  }
}

/**
 * A message that cannot be stored, or an unreadable stored record; `position` is its position in the log, if known.
 * `refused`: the option `beforeStore` threw `cause`.
 */
export class RecordError extends MemoryError {
  protected static override readonly brandName = "RecordError";
  declare readonly code: "corrupt" | "unsupported_version" | "unsupported_message" | "refused";
  /** Position in the log, or index in the messages of the call. */
  readonly position: number | undefined;

  /** `details.position` is the position in the log, or the index in the messages of the call. */
  constructor(message: string, details: Pick<RecordError, "code"> & Partial<Pick<RecordError, "position" | "cause">>) {
    super(message, details);
    this.position = details.position;
  }
}

/** A conversation that violates structure rules; `issues` lists the violations. */
export class StructureError extends MemoryError {
  protected static override readonly brandName = "StructureError";
  /** The violations: rule, index of the message, and reason. */
  readonly issues: readonly {
    /** The rule, such as `S07`. */
    readonly rule: string;
    /** The message's index. */
    readonly index: number;
    /** The reason. */
    readonly message: string;
  }[];

  /** `issues` lists the violations. */
  constructor(message: string, issues: StructureError["issues"]) {
    super(message, { code: "invalid_structure" });
    this.issues = issues;
  }
}

/** The messages that must be kept exceed the budget; `needed` and `allowed` are in the unit that the message names. */
export class BudgetError extends MemoryError {
  protected static override readonly brandName = "BudgetError";
  /** Required size. */
  readonly needed: number;
  /** Allowed size. */
  readonly allowed: number;

  /** `details` are in the unit that `message` names. */
  constructor(message: string, details: Pick<BudgetError, "needed" | "allowed">) {
    super(message, { code: "over_budget" });
    this.needed = details.needed;
    this.allowed = details.allowed;
  }
}

/** Summarizing failed; nothing was changed. */
export class SummaryError extends MemoryError {
  protected static override readonly brandName = "SummaryError";
  declare readonly code: "failed" | "empty" | "cut_off" | "too_long" | "timeout" | "backing_off";

  /** `retryable` is always true. */
  constructor(message: string, details: Pick<SummaryError, "code"> & Partial<Pick<SummaryError, "cause">>) {
    super(message, { ...details, retryable: true });
  }
}

/**
 * The session is encrypted, and this process cannot decrypt it; nothing was read or written.
 *
 * `unknown_key`: the key is not among those of the option `encryption`, or there is no such option; `retryable` where
 * the source of keys failed. `wrong_key`: another key has that id here, or the data was changed or moved in Redis,
 * or its owner was. `plain_text`: the data is not encrypted, which the option refuses.
 */
export class EncryptionError extends MemoryError {
  protected static override readonly brandName = "EncryptionError";
  declare readonly code: "unknown_key" | "wrong_key" | "plain_text";
  /** Undefined for a record read outside of a session. */
  readonly sessionId: string | undefined;
  /**
   * The id of the key; `""` for plain text. In a process without the option `encryption`, it may be the name of a
   * session's data key.
   */
  readonly keyId: string;

  /** `details.keyId` is the id of the required key. */
  constructor(
    message: string,
    details: Pick<EncryptionError, "code" | "sessionId" | "keyId"> &
      Partial<Pick<EncryptionError, "retryable" | "cause">>,
  ) {
    super(message, details);
    this.sessionId = details.sessionId;
    this.keyId = details.keyId;
  }
}

/** The status of each code that means something to a client of an HTTP server. */
const httpStatuses: Readonly<Record<number, readonly string[]>> = {
  400: ["invalid_option", "invalid_structure", "unsupported_message", "refused"],
  404: ["other_owner", "unknown_session", "unknown_message", "unknown_checkpoint", "erased"],
  409: ["content", "position", "epoch", "stale", "busy", "nested_turn", "fenced", "exists"],
  413: ["too_large", "over_budget"],
  503: ["unavailable", "timeout", "out_of_memory", "read_only", "closed"],
};

/**
 * The HTTP status of an answer to a request that failed with `error`: that of the first error of this package among it
 * and its causes (LangChain wraps errors of an agent's middleware). 400: the request cannot be served as it is. 404:
 * there is no such session, or it belongs to somebody else; both look the same. 409: the session is in another state.
 * 413: too large. 503: the same request may succeed later; send `Retry-After`. 500: everything else.
 * @example
 * import { httpStatusOf, RedisChatMemory } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * export async function GET(request: Request): Promise<Response> {
 *   try {
 *     const id = new URL(request.url).searchParams.get("id") ?? "";
 *     return Response.json(await memory.history(id, { owner: "ann" }).stats());
 *   } catch (error) {
 *     return new Response(null, { status: httpStatusOf(error) });
 *   }
 * }
 */
export function httpStatusOf(error: unknown): number {
  let cause = error;
  for (let depth = 0; depth < 8 && !MemoryError.isInstance(cause); depth += 1) {
    cause = (cause as { readonly cause?: unknown } | null | undefined)?.cause;
  }
  if (!MemoryError.isInstance(cause)) {
    return 500;
  }
  const { code, retryable } = cause;
  const [status] = Object.entries(httpStatuses).find(([, codes]) => codes.includes(code)) ?? [];
  return status === undefined ? (retryable ? 503 : 500) : Number(status);
}
