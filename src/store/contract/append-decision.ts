import * as z from "zod/mini";
import * as crypto from "node:crypto";
import { lazy, objectOf, positiveInteger } from "../../base/options.js";
import { contentConflict, tooLarge } from "./refusals.js";
import type { SessionRef } from "./session-ref.js";
import type { AppendRequest, NewRecord, RecordIdentity, SideChanges } from "./session-writes.js";

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

/** The limits as the field `limits` of a schema. */
export const sizeLimits = lazy(() =>
  z.prefault(
    objectOf(
      {
        maxMessageBytes: z._default(positiveInteger(), defaultLimits.maxMessageBytes),
        maxAppendBytes: z._default(positiveInteger(), defaultLimits.maxAppendBytes),
      },
      "an object with maxMessageBytes and maxAppendBytes",
    ),
    {},
  ),
);

/** A valid request to append, each id once. */
export interface AppendPlan {
  readonly records: readonly NewRecord[];
  readonly indexes: readonly number[];
  /** Repetitions with the same content. */
  readonly duplicates: number;
  /** Indexes of repetitions with other content; empty unless `onConflict` is `keep`. */
  readonly conflicts: readonly number[];
  /** The request's counter if every record has a count; else undefined. */
  readonly counter: string | undefined;
}

/** The plan of a write without records. */
export const noRecords: AppendPlan = { records: [], indexes: [], duplicates: 0, conflicts: [], counter: undefined };

/**
 * Checks the size of a request and returns the records to write, without repetitions.
 *
 * @throws StoreError `too_large`; ConflictError `content` for an id
 *   that occurs twice with different content.
 */
export function planAppend(session: SessionRef, request: AppendRequest, limits: SizeLimits): AppendPlan {
  const { records, side } = request;
  checkNumberOfRecords(session.id, records.length);
  checkSizes(session.id, { texts: records.map(({ record }) => record), side }, limits);
  return withoutRepetitions(session.id, request);
}

/**
 * The records of a request without those whose id occurred before in it.
 *
 * @throws ConflictError `content` for an id that occurs twice with different content.
 */
function withoutRepetitions(sessionId: string, request: AppendRequest): AppendPlan {
  const isCounted = request.records.every(({ tokens }) => tokens !== undefined);
  const digests = new Map<string, string>();
  const plan = {
    records: [] as NewRecord[],
    indexes: [] as number[],
    duplicates: 0,
    conflicts: [] as number[],
    counter: isCounted ? request.counter : undefined,
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

/** True if the last stored records are exactly those of a request, which is then resent after a lost reply. */
export function isResent(last: readonly (RecordIdentity | undefined)[], own: readonly NewRecord[]): boolean {
  const isSame = ({ id, digest }: NewRecord, index: number) => last[index]?.id === id && last[index]?.digest === digest;
  return own.length > 0 && last.length === own.length && own.every(isSame);
}

/** Characters of an owner's mark. */
export const ownerMarkLength = 12;

/**
 * The mark of an owner in records: the first 12 hexadecimal digits of the name's SHA-1, which Redis scripts compute
 * too. It identifies the owner if only records of a session are left. Not a secret.
 */
export function ownerMark(owner: string): string {
  return crypto.createHash("sha1").update(owner).digest("hex").slice(0, ownerMarkLength);
}

/**
 * The mark at the end of a record's first line, where `meta` ends, sealed or not; undefined for a record without an
 * owner. `load-session.lua` reads the same.
 */
export function ownerMarkIn(record: string): string | undefined {
  const lineEnd = record.indexOf("\n");
  const end = lineEnd < 0 ? record.length : lineEnd;
  return markAtEnd.exec(record.slice(Math.max(0, end - markLength), end))?.[1];
}

const markAtEnd = /"owner":"([0-9a-f]{12})"\}\}$/;
const markLength = '"owner":"0123456789ab"}}'.length;

/** The record with the mark of another owner; a record without a mark is unchanged. */
export function withOwnerMark(record: string, owner: string): string {
  return record.replace(markAtEnd, `"owner":"${ownerMark(owner)}"}}`);
}

/** True for a record that begins a round. */
export function beginsRound(record: string): boolean {
  return record.startsWith('{"type":"human"');
}
