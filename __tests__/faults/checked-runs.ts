import { checkRun } from "../../tools/faults/checking/check-run.js";
import type { FailoverWindow } from "../../tools/faults/checking/failover-windows.js";
import type { Finding } from "../../tools/faults/checking/finding.js";
import type { FinalSession } from "../../tools/faults/checking/session-case.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { readRuns } from "../../tools/faults/journal/runs.js";

/** A call of session `s` that was asked for at this time and answered soon after. */
export const at = (asked: number, more: Partial<Call>): Call => {
  return { client: "0-0", session: "s", do: "append", asked, told: asked + 5, ok: true, answer: {}, ...more };
};

/** An append of a turn of two messages. */
export const append = (asked: number, turn: string, more: Partial<Call> = {}) => at(asked, { turn, count: 2, ...more });

/** A view that shows these runs of messages, and nothing in front of them. */
export const viewOf = (runs: string) => ({ start: 0, head: [], covered: [], tokens: readRuns(runs), issues: [] });

/** What session `s` holds in the end. */
export const final = (log: string, more: Partial<FinalSession> = {}): FinalSession => {
  return { id: "s", log: readRuns(log), view: viewOf(log), damaged: false, ...more };
};

/** What the checker finds in calls and sessions. */
export function findings(
  calls: Call[],
  sessions: FinalSession | FinalSession[],
  windows: FailoverWindow[] = [],
): readonly Finding[] {
  return checkRun({ calls, sessions: [sessions].flat(), windows }).findings;
}

/** The figures of what it finds, in order. */
export const figures = (...given: Parameters<typeof findings>) => findings(...given).map(({ figure }) => figure);

/** How much it finds of each figure. */
export function amounts(...given: Parameters<typeof findings>): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { figure, amount } of findings(...given)) {
    sums[figure] = (sums[figure] ?? 0) + amount;
  }
  return sums;
}
