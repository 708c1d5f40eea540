import { ConfigurationError } from "../errors.js";
import { checkSessionId } from "./session-id.js";
import { contentConflict, outOfRange, tooLarge } from "./refusals.js";
import type {
  AppendRequest,
  CommitRequest,
  NewRecord,
  ReplaceTailRequest,
  RewindRequest,
  SideChanges,
  SideWrite,
} from "./session-store.js";
import { turnNameLength, type TurnClaim } from "./turns.js";

/** Size limits in bytes of UTF-8. */
export interface SizeLimits {
  readonly maxMessageBytes: number;
  readonly maxAppendBytes: number;
}

/** A megabyte is about 250,000 tokens of English text, more than most models read at once. */
export const defaultMaxMessageBytes = 1_000_000;

/** Ten megabytes block Redis for about 16 ms. */
export const defaultMaxAppendBytes = 10_000_000;

/**
 * Maximum number of records in one append. Each takes three arguments of a command; beyond a million arguments Redis
 * closes the connection.
 */
export const maxAppendRecords = 300_000;

/** A valid request to append, without repetitions. */
export interface AppendPlan {
  /** The records without those whose id occurred before in the same request. */
  readonly records: readonly NewRecord[];
  /** For each of them its index in the request. */
  readonly indexes: readonly number[];
  /** Repetitions with the same content. */
  readonly duplicates: number;
  /** Indexes of repetitions with other content; empty unless `onConflict` is `keep`. */
  readonly conflicts: readonly number[];
  /** The request's counter if every record has a count; else undefined. */
  readonly counter: string | undefined;
}

/**
 * Checks a request and returns the records to write, without repetitions.
 *
 * @throws ConfigurationError naming the part of the request; StoreError `too_large`; ConflictError `content` for an id
 *   that occurs twice with different content.
 */
export function planAppend(
  sessionId: string,
  request: AppendRequest,
  limits: SizeLimits = { maxMessageBytes: defaultMaxMessageBytes, maxAppendBytes: defaultMaxAppendBytes },
): AppendPlan {
  checkSessionId(sessionId);
  checkNumbers(request);
  checkSide(request.side);
  checkRecords(sessionId, request, limits);
  return withoutRepetitions(sessionId, request);
}

/** The same for an append that takes the place of the end of the log. */
export function planReplaceTail(sessionId: string, request: ReplaceTailRequest, limits: SizeLimits): AppendPlan {
  checkRewind(sessionId, request.cut);
  if (request.cut.to > request.cut.next) {
    throw outOfRange("to");
  }
  if (request.records.length === 0) {
    throw new ConfigurationError("records", '"records" must not be empty; use rewind() to remove messages only.');
  }
  return planAppend(sessionId, request, limits);
}

/** Rejects a commit with invalid numbers. */
export function checkCommit(sessionId: string, request: CommitRequest): void {
  checkSessionId(sessionId);
  checkInteger("next", request.next, 0);
  checkInteger("start", request.start, 0);
  if (request.start > request.next) {
    throw outOfRange("start");
  }
  checkInteger("headCount", request.headCount, 0);
  checkOptional("tokens", request.tokens, checkAmount);
  checkOptional("tokensRead", request.tokensRead, checkAmount);
}

/** Rejects a rewind with invalid numbers. */
export function checkRewind(sessionId: string, request: RewindRequest): void {
  checkSessionId(sessionId);
  checkInteger("next", request.next, 0);
  checkInteger("to", request.to, 0);
  if (request.to > request.next) {
    throw outOfRange("to");
  }
}

/** Rejects a side write with invalid parts. */
export function checkSideWrite(sessionId: string, changes: SideWrite): void {
  checkSessionId(sessionId);
  checkOptional("ttlMs", changes.ttlMs, positive);
  checkSide(changes);
}

/** Rejects a page with invalid bounds. */
export function checkPage({ from, limit }: { readonly from?: number; readonly limit?: number }): void {
  checkOptional("from", from, notNegative);
  checkOptional("limit", limit, positive);
}

/** Rejects everything but integers of at least `minimum`. */
export function checkInteger(option: string, value: unknown, minimum: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < minimum) {
    throw new ConfigurationError(
      option,
      `"${option}" must be an integer of ${minimum} or more; got ${received(value)}.`,
    );
  }
}

/** Calls the check unless the value is undefined. */
function checkOptional(option: string, value: unknown, check: (option: string, value: unknown) => void): void {
  if (value !== undefined) {
    check(option, value);
  }
}

function checkNumbers({ expectedNext, fencingToken, ttlMs, viewLimit, counter, turn }: AppendRequest): void {
  checkTurn(turn);
  checkOptional("expectedNext", expectedNext, notNegative);
  checkOptional("fencingToken", fencingToken, notNegative);
  checkOptional("ttlMs", ttlMs, positive);
  checkOptional("viewLimit.messages", viewLimit?.messages, checkAmount);
  checkOptional("viewLimit.tokens", viewLimit?.tokens, checkAmount);
  if (counter === "") {
    throw new ConfigurationError("counter", '"counter" must not be empty.');
  }
}

function checkTurn(turn: TurnClaim | undefined): void {
  if (turn === undefined) {
    return;
  }
  checkInteger("turn.stored", turn.stored, 0);
  if (typeof turn.name !== "string" || turn.name.length !== turnNameLength || !/^[\w-]+$/.test(turn.name)) {
    throw new ConfigurationError("turn.name", `"turn.name" must be ${turnNameLength} characters of base64url.`);
  }
}

const notNegative = (option: string, value: unknown) => checkInteger(option, value, 0);
const positive = (option: string, value: unknown) => checkInteger(option, value, 1);

function checkSide(side: SideChanges | undefined): void {
  checkOptional("side.bound.keep", side?.bound?.keep, notNegative);
  for (const value of Object.values(side?.set ?? {})) {
    if (typeof value !== "string") {
      throw new ConfigurationError("side.set", `The values of "side.set" must be strings; got ${received(value)}.`);
    }
  }
}

function checkRecords(
  sessionId: string,
  { records, side }: AppendRequest,
  { maxMessageBytes, maxAppendBytes }: SizeLimits,
): void {
  if (records.length > maxAppendRecords) {
    throw tooLarge(
      sessionId,
      `This append holds ${records.length} messages; at most ${maxAppendRecords} are allowed. ` +
        "Split it into several appends",
    );
  }
  let total = Object.values(side?.set ?? {}).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
  for (let index = 0; index < records.length; index += 1) {
    checkRecord(records[index]!, index);
    const bytes = Buffer.byteLength(records[index]!.record);
    if (bytes > maxMessageBytes) {
      throw tooLarge(
        sessionId,
        `Message ${index} of this append takes ${bytes} bytes; "maxMessageBytes" allows ${maxMessageBytes}`,
      );
    }
    total += bytes;
  }
  if (total > maxAppendBytes) {
    throw tooLarge(
      sessionId,
      `This append takes ${total} bytes; "maxAppendBytes" allows ${maxAppendBytes}. Split it into several appends`,
    );
  }
}

function checkRecord({ id, digest, record, tokens }: NewRecord, index: number): void {
  if (typeof id !== "string" || id === "") {
    throw new ConfigurationError(`records.${index}.id`, `The id of record ${index} must be a non-empty string.`);
  }
  if (typeof digest !== "string" || !/^[\w-]{8}$/.test(digest)) {
    throw new ConfigurationError(
      `records.${index}.digest`,
      `The digest of record ${index} must be 8 characters of base64url.`,
    );
  }
  if (typeof record !== "string") {
    throw new ConfigurationError(
      `records.${index}.record`,
      `Record ${index} must be a string; got ${received(record)}.`,
    );
  }
  if (tokens !== undefined) {
    checkAmount(`records.${index}.tokens`, tokens);
  }
}

function withoutRepetitions(sessionId: string, request: AppendRequest): AppendPlan {
  const digests = new Map<string, string>();
  const plan = {
    records: [] as NewRecord[],
    indexes: [] as number[],
    duplicates: 0,
    conflicts: [] as number[],
    counter: counterOf(request),
  };
  for (const [index, record] of request.records.entries()) {
    const first = digests.get(record.id);
    if (first === undefined) {
      digests.set(record.id, record.digest);
      plan.records.push(record);
      plan.indexes.push(index);
    } else if (first === record.digest) {
      plan.duplicates += 1;
    } else if (request.onConflict === "keep") {
      plan.conflicts.push(index);
    } else {
      throw contentConflict(sessionId, record.id);
    }
  }
  return plan;
}

function counterOf({ counter, records }: AppendRequest): string | undefined {
  return records.every(({ tokens }) => tokens !== undefined) ? counter : undefined;
}

function checkAmount(option: string, value: unknown): void {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new ConfigurationError(option, `"${option}" must be a number of 0 or more; got ${received(value)}.`);
  }
}

function received(value: unknown): string {
  return typeof value === "number" ? String(value) : value === null ? "null" : `a value of type ${typeof value}`;
}
