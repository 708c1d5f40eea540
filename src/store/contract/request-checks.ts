import { ConfigurationError } from "../../base/errors.js";
import type { SessionRef } from "./session-ref.js";
import { tooLarge } from "./refusals.js";
import type { AppendRequest } from "./session-writes.js";
import type { SideChanges } from "./side-fields.js";

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

/** Refuses an append beyond the limits. @throws StoreError `too_large`. */
export function checkAppend({ id }: SessionRef, { records, side }: AppendRequest, limits: SizeLimits): void {
  checkNumberOfRecords(id, records.length);
  checkSizes(id, { texts: records.map(({ record }) => record), side }, limits);
}
