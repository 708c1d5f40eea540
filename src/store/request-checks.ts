import { ConfigurationError } from "../base/errors.js";
import { checkSessionId, type SessionRef } from "./session-ref.js";
import { outOfRange, tooLarge } from "./refusals.js";
import type { LogPage, ReadLogOptions } from "./session-reads.js";
import type { AppendRequest, CommitRequest, NewRecord, RewindRequest } from "./session-writes.js";
import type { SideChanges, SideWrite } from "./side-fields.js";
import type { HeldTicket, HoldRequest } from "./holds.js";
import { turnNameLength, type TurnClaim } from "./turns.js";

/** Rejects a session whose id or hold is invalid. */
function checkSession({ id, hold }: SessionRef): void {
  checkSessionId(id);
  if (hold !== undefined && typeof hold.epoch !== "string") {
    throw mustBe("a string", "hold.epoch", hold.epoch);
  }
  checkOptional("hold.token", hold?.token, notNegative);
}

/** Rejects a session that is restarted without a hold. */
export function checkHeld(session: SessionRef): void {
  checkSession(session);
  if (session.hold?.token === undefined) {
    throw new ConfigurationError("hold", 'restart() needs a session with a "hold", its epoch and its token.');
  }
}

/** Rejects a commit with invalid numbers. */
export function checkCommit(session: SessionRef, request: CommitRequest): void {
  checkSession(session);
  checkInteger("next", request.next, 0);
  checkInteger("start", request.start, 0);
  if (request.start > request.next) {
    throw outOfRange("start");
  }
  checkInteger("headCount", request.headCount, 0);
  checkOptional("tokens", request.tokens, checkAmount);
  checkOptional("tokensRead", request.tokensRead, checkAmount);
  if (request.discard?.remember !== undefined) {
    checkInteger("discard.remember.count", request.discard.remember.count, 0);
    checkInteger("discard.remember.seconds", request.discard.remember.seconds, 0);
  }
}

/** Rejects a rewind with invalid numbers. */
export function checkRewind(session: SessionRef, request: RewindRequest): void {
  checkSession(session);
  checkInteger("next", request.next, 0);
  checkInteger("to", request.to, 0);
  if (request.to > request.next) {
    throw outOfRange("to");
  }
}

/** Rejects a side write with invalid parts. */
export function checkSideWrite(session: SessionRef, changes: SideWrite): void {
  checkSession(session);
  checkSide(changes);
  checkOptional("ttlMs", changes.ttlMs, positive);
}

/** Rejects a page with invalid bounds. */
export function checkPage({ from, limit }: ReadLogOptions): void {
  checkOptional("from", from, notNegative);
  checkOptional("limit", limit, positive);
}

/**
 * The positions that a page of the log holds, from `from` up to but without `to`.
 *
 * @throws ConfigurationError naming the option.
 */
export function planRead(
  options: ReadLogOptions,
  { base, next }: Pick<LogPage, "base" | "next">,
): Pick<LogPage, "from"> & {
  /** The position behind the last record of the page. */
  readonly to: number;
} {
  checkPage(options);
  const from = Math.min(Math.max(options.from ?? base, base), next);
  return { from, to: Math.min(next, from + (options.limit ?? Infinity)) };
}

/** Rejects everything but integers of at least `minimum`. */
export function checkInteger(option: string, value: unknown, minimum: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < minimum) {
    throw mustBe(`an integer of ${minimum} or more`, option, value);
  }
}

/** Calls the check unless the value is undefined. */
export function checkOptional(option: string, value: unknown, check: (option: string, value: unknown) => void): void {
  if (value !== undefined) {
    check(option, value);
  }
}

/** Rejects everything but integers of at least 0. */
export const notNegative = (option: string, value: unknown) => checkInteger(option, value, 0);
/** Rejects everything but integers of at least 1. */
export const positive = (option: string, value: unknown) => checkInteger(option, value, 1);

/** Rejects side changes with invalid parts. */
export function checkSide(side: SideChanges | undefined): void {
  if (side === undefined) {
    return;
  }
  checkObject("side", side);
  checkOptional("side.set", side.set, checkObject);
  checkOptional("side.bound", side.bound, checkObject);
  checkTexts("side.set", Object.values(side.set ?? {}));
  if (side.remove !== undefined && !Array.isArray(side.remove)) {
    throw mustBe("an array", "side.remove", side.remove);
  }
  checkTexts("side.remove", side.remove ?? []);
  if (side.bound !== undefined) {
    checkTexts("side.bound.prefix", [side.bound.prefix]);
    checkInteger("side.bound.keep", side.bound.keep, 0);
  }
}

function checkObject(option: string, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw mustBe("an object", option, value);
  }
}

function checkTexts(option: string, values: readonly unknown[]): void {
  const other = values.findIndex((value) => typeof value !== "string");
  if (other >= 0) {
    throw new ConfigurationError(option, `The values of "${option}" must be strings; got ${received(values[other])}.`);
  }
}

/** Rejects everything but numbers of at least 0. */
export function checkAmount(option: string, value: unknown): void {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw mustBe("a number of 0 or more", option, value);
  }
}

function mustBe(form: string, option: string, value: unknown): ConfigurationError {
  return new ConfigurationError(option, `"${option}" must be ${form}; got ${received(value)}.`);
}

/** Describes a value for an error; a text is never shown. */
export function received(value: unknown): string {
  return typeof value === "number" ? String(value) : value === null ? "null" : `a value of type ${typeof value}`;
}

/** Rejects a ticket that is not a valid token. */
function checkTicketText(ticket: string): void {
  if (typeof ticket !== "string" || !/^[\w-]{1,64}$/.test(ticket)) {
    throw new ConfigurationError("ticket", '"ticket" must be 1 to 64 characters of base64url.');
  }
}

/** Rejects an invalid ticket, and durations that are not positive integers. */
export function checkTicket({ ticket, holdMs, ttlMs }: HeldTicket): void {
  checkTicketText(ticket);
  positive("holdMs", holdMs);
  checkOptional("ttlMs", ttlMs, positive);
}

/** Rejects an invalid request for a hold. */
export function checkHoldRequest(entry: HoldRequest): void {
  checkTicket(entry);
  positive("graceMs", entry.graceMs);
}

/** Size limits in bytes of UTF-8. */
export interface SizeLimits {
  /** Maximum size of a record. @default 1,000,000 */
  readonly maxMessageBytes: number;
  /** Maximum size of an append, side fields included. @default 10,000,000 */
  readonly maxAppendBytes: number;
}

/**
 * A megabyte is about 250,000 tokens of English text, more than most models read at once. Ten megabytes block Redis for
 * about 16 ms.
 */
export const defaultLimits: SizeLimits = { maxMessageBytes: 1_000_000, maxAppendBytes: 10_000_000 };

/**
 * Maximum number of records in one append. Each takes three arguments of a command; beyond a million arguments Redis
 * closes the connection.
 */
const maxAppendRecords = 300_000;

/** Refuses an append of too many records. @throws StoreError `too_large`. */
export function checkNumberOfRecords(sessionId: string, count: number): void {
  if (count > maxAppendRecords) {
    throw tooLarge(
      sessionId,
      `This append holds ${count} messages; at most ${maxAppendRecords} are allowed. Split it into several appends`,
    );
  }
}

/** Refuses records and side fields that are too large, by the texts' bytes. @throws StoreError `too_large`. */
export function checkSizes(
  sessionId: string,
  { texts, side }: { readonly texts: readonly string[]; readonly side: SideChanges | undefined },
  { maxMessageBytes, maxAppendBytes }: SizeLimits,
): void {
  let total = Object.values(side?.set ?? {}).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
  for (let index = 0; index < texts.length; index += 1) {
    const bytes = Buffer.byteLength(texts[index]!);
    if (bytes > maxMessageBytes) {
      throw tooLarge(
        sessionId,
        `Message ${index} of this append takes ${bytes} bytes; "limits.maxMessageBytes" allows ${maxMessageBytes}`,
      );
    }
    total += bytes;
  }
  if (total > maxAppendBytes) {
    throw tooLarge(
      sessionId,
      `This append takes ${total} bytes; "limits.maxAppendBytes" allows ${maxAppendBytes}. ` +
        "Split it into several appends",
    );
  }
}

/** Rejects an append with invalid parts, or beyond the limits. */
export function checkAppend(session: SessionRef, request: AppendRequest, limits: SizeLimits): void {
  checkSession(session);
  checkNumbers(request);
  checkSide(request.side);
  checkHolding(session, request);
  checkRecords(session.id, request, limits);
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

function checkRecords(sessionId: string, { records, side }: AppendRequest, limits: SizeLimits): void {
  if (!Array.isArray(records)) {
    throw mustBe("an array", "records", records);
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
