import type { Call } from "../journal/read-journals.js";
import { isTouched, type FailoverWindow } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import { isOwned, isWrite, type SessionCase } from "./session-case.js";

/** Microseconds after which no copy of a question is under way any more, and no summary of before. */
const patience = 10_000_000;

/** Microseconds in which what such an erasure removes was written. */
const life = 30_000_000;

/** An erasure that was told to be made, and until when late writers were refused at least. */
interface Erasure {
  readonly asked: number;
  readonly told: number;
  readonly guarded: number;
}

/**
 * Checks the erasures of a session's owner: while the guard stands, nothing is acknowledged and nothing is shown; when
 * it is over, no key is left, unless somebody began the session anew. That what was erased stays away for good is
 * checked as for a clear.
 */
export function checkErasures({ final, windows }: SessionCase, calls: readonly Call[]): Finding[] {
  const erasures = calls
    .filter((call) => call.do === "erase" && call.ok && isOwned(calls, call))
    .filter(({ asked }) => !isTouched(windows, asked, Infinity))
    .map(({ asked, told, guardMs = 0 }): Erasure => ({ asked, told, guarded: asked + guardMs * 1_000 }));
  const says = erasures.flatMap((erasure) => [...duringGuard(erasure, calls), ...leftKeys(erasure, final.keys, calls)]);
  return [...new Set(says)].map((text) => ({ figure: "wrongErasures", session: final.id, amount: 1, says: text }));
}

/** Checks the erasures of owners who have no session: none leaves a thread, a run or an item. */
export function checkErasuresBeside(calls: readonly Call[], windows: readonly FailoverWindow[]): Finding[] {
  return calls
    .filter((call) => call.do === "erase-beside" && call.ok && !isTouched(windows, call.asked - life, Infinity))
    .flatMap(({ session = "", client, asked, answer: { left = [] } }) =>
      left.map((kind) => ({
        ...{ figure: "wrongErasures" as const, session, amount: 1 },
        says: `client ${client} found the ${kind} of an owner that it erased at ${asked}`,
      })),
    );
}

function duringGuard({ told, guarded }: Erasure, calls: readonly Call[]): string[] {
  return (
    calls
      .filter((call) => call.ok && call.asked > told && call.told < guarded)
      // A summary in parts calls its model again for a view that it read before.
      .filter((call) => call.do !== "summarize" || call.asked > told + patience)
      .filter((call) => isWrite(call) || (call.answer.runs ?? "") !== "")
      .map((call) => `${call.do} of client ${call.client} at ${call.asked} had a session that was erased`)
  );
}

function leftKeys({ guarded }: Erasure, keys: number | undefined, calls: readonly Call[]): string[] {
  const mayBeNew = calls.some((call) => isWrite(call) && mayWriteAfter(call, guarded));
  return keys === undefined || keys === 0 || mayBeNew ? [] : [`${keys} keys are left after the guard of an erasure`];
}

function mayWriteAfter({ ok, asked, told, answer }: Call, time: number): boolean {
  if (ok) {
    return told > time;
  }
  return answer.error !== "erased" && (told === Infinity ? asked : told) + patience > time;
}
