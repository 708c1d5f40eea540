import type { FaultEntry, Promotion } from "../injection/fault-log.js";

/** A time in which Redis does not promise to keep what it acknowledged, for the sessions in some slots or for all. */
export interface FailoverWindow {
  readonly from: number;
  readonly to: number;
  readonly slots?: readonly (readonly [first: number, last: number])[];
}

const second = 1_000_000;

/**
 * The windows of a run: around each promotion of a replica, as long as the fault that brought it about, from before it
 * (what was not copied yet) until the servers had come together (what the old master still took).
 */
export function failoverWindows(promotions: readonly Promotion[], faults: readonly FaultEntry[]): FailoverWindow[] {
  return promotions.map(({ at, slots }) => {
    const around = faults.filter(({ heavy, from, to }) => heavy && from <= at + second && at - second <= to);
    const from = Math.min(at - (around.length > 0 ? 0 : 6 * second), ...around.map((fault) => fault.from));
    // A master that came back before it was replaced takes writes until a Sentinel makes it a replica.
    const isInside = around.some((fault) => at <= fault.to);
    const to = Math.max(at + (isInside ? 0 : 8 * second), ...around.map((fault) => fault.to));
    return { from: from - 2 * second, to: to + second, ...(slots && { slots }) };
  });
}

/** The windows that concern a slot; a session without a slot is concerned by all. */
export function windowsOfSlot(windows: readonly FailoverWindow[], slot: number | undefined): FailoverWindow[] {
  return windows.filter(
    ({ slots }) =>
      slots === undefined || slot === undefined || slots.some(([first, last]) => first <= slot && slot <= last),
  );
}

/** True if a time lies in a window, in part or as a whole. */
export function isTouched(windows: readonly FailoverWindow[], from: number, to: number): boolean {
  return windows.some((window) => window.from <= to && from <= window.to);
}
