import { tooLarge } from "./refusals.js";
import type { SideChanges } from "./side-fields.js";

/** Size limits in bytes of UTF-8. */
export interface SizeLimits {
  /** The most bytes of one record. @default 1,000,000 */
  readonly maxMessageBytes: number;
  /** The most bytes of one append, with its side fields. @default 10,000,000 */
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
