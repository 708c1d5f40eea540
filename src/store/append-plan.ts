import { ConfigurationError } from "../base/errors.js";
import { contentConflict } from "./refusals.js";
import {
  checkAmount,
  checkHoldRequest,
  checkTicketText,
  checkInteger,
  checkOptional,
  checkRewind,
  checkSession,
  checkSide,
  notNegative,
  positive,
  received,
  checkNumberOfRecords,
  checkSizes,
  defaultLimits,
  type SizeLimits,
} from "./request-checks.js";
import type { SessionRef } from "./session-ref.js";
import type { AppendRequest, NewRecord, ReplaceTailRequest } from "./session-writes.js";
import { turnNameLength, type TurnClaim } from "./turns.js";

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
  session: SessionRef,
  request: AppendRequest,
  limits: SizeLimits = defaultLimits,
): AppendPlan {
  checkSession(session);
  checkNumbers(request);
  checkSide(request.side);
  checkHolding(session, request);
  checkRecords(session.id, request, limits);
  return withoutRepetitions(session.id, request);
}

/** Refuses to acquire a hold for a session that is already held by the caller. */
function checkHolding({ hold }: SessionRef, { take, giveBack }: AppendRequest): void {
  if (take !== undefined) {
    checkHoldRequest(take);
    if (hold !== undefined) {
      throw new ConfigurationError("take", 'append: the session has a "hold" already; leave out "take".');
    }
  }
  if (giveBack !== undefined) {
    checkTicketText(giveBack);
  }
}

/** As {@link planAppend}, for an append that replaces the tail of the log. */
export function planReplaceTail(session: SessionRef, request: ReplaceTailRequest, limits: SizeLimits): AppendPlan {
  checkRewind(session, request.cut);
  if (request.records.length === 0) {
    throw new ConfigurationError("records", '"records" must not be empty; use rewind() to remove messages only.');
  }
  return planAppend(session, request, limits);
}

function checkRecords(sessionId: string, { records, side }: AppendRequest, limits: SizeLimits): void {
  if (!Array.isArray(records)) {
    throw new ConfigurationError("records", `"records" must be an array; got ${received(records)}.`);
  }
  checkNumberOfRecords(sessionId, records.length);
  const texts: string[] = [];
  for (let index = 0; index < records.length; index += 1) {
    checkRecord(records[index], index);
    texts.push(records[index]!.record);
  }
  checkSizes(sessionId, { texts, side }, limits);
}

function checkRecord(given: NewRecord | null | undefined, index: number): void {
  if (typeof given !== "object" || given === null) {
    throw new ConfigurationError(`records.${index}`, `Record ${index} must be an object; got ${received(given)}.`);
  }
  const { id, digest, record, tokens } = given;
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

function checkNumbers({ expectedNext, ttlMs, viewLimit, counter, turn }: AppendRequest): void {
  checkTurn(turn);
  checkOptional("expectedNext", expectedNext, notNegative);
  checkOptional("ttlMs", ttlMs, positive);
  checkOptional("viewLimit.messages", viewLimit?.messages, checkAmount);
  checkOptional("viewLimit.tokens", viewLimit?.tokens, checkAmount);
  checkOptional("viewLimit.fromStart", viewLimit?.fromStart, checkAmount);
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
