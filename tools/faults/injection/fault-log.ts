import { appendFileSync } from "node:fs";
import { clock } from "../journal/entries.js";
import type { FaultKind } from "../plan/fault-plan.js";

/** A fault as it happened, in microseconds. */
export interface FaultEntry {
  readonly kind: FaultKind;
  readonly from: number;
  readonly to: number;
  readonly heavy: boolean;
  /** Why it could not be made. */
  readonly failed?: string;
}

/** A replica that was seen to have become a master. */
export interface Promotion {
  readonly at: number;
  /** The slots that it serves; left out where there are none. */
  readonly slots?: readonly (readonly [first: number, last: number])[];
}

/** The faults that were made, and the servers' reactions. Every entry is a line of a file too. */
export class FaultLog {
  readonly faults: FaultEntry[] = [];
  readonly promotions: Promotion[] = [];

  constructor(readonly file: string) {}

  add(entry: FaultEntry): void {
    this.faults.push(entry);
    appendFileSync(this.file, `${JSON.stringify(entry)}\n`);
  }

  promoted(slots: Promotion["slots"]): void {
    const promotion = { at: clock(), ...(slots && { slots }) };
    this.promotions.push(promotion);
    appendFileSync(this.file, `${JSON.stringify({ promotion })}\n`);
  }

  /** How often each kind was made. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { kind, failed } of this.faults) {
      counts[kind] = (counts[kind] ?? 0) + (failed === undefined ? 1 : 0);
    }
    return counts;
  }
}
