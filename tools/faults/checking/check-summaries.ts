import { addCoverage, coverageIn, coverageOf, nothing, sameCoverage, type Coverage } from "../journal/coverage.js";
import type { Call } from "../journal/read-journals.js";
import { readRuns, tokenText } from "../journal/runs.js";
import { isTouched } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import type { SessionCase } from "./session-case.js";

/** Checks that summaries say exactly what left the view, and that no two were written for one session at once. */
export function checkSummaries(session: SessionCase, summarized: readonly Call[]): Finding[] {
  return [...lastView(session), ...views(session), ...atOnce(session, summarized)];
}

function lastView({ final }: SessionCase): Finding[] {
  const { start, head, covered } = final.view;
  // A rebuild may lose summaries without the messages that they stand for, and these without those.
  if (covered.length === 0 || final.wasRebuilt === true) {
    return [];
  }
  const { discarded = 0 } = final;
  const left = final.log.slice(0, start).filter((token) => token !== undefined);
  const said = addCoverage(covered.reduce(addCoverage, nothing), coverageOf(head));
  if (discarded > 0) {
    // Which messages were discarded is not known any more, but how many.
    const count = discarded + start;
    return said.count === count ? [] : [wrong(final.id, "the last view", said, count)];
  }
  return sameCoverage(said, coverageOf(left)) ? [] : [wrong(final.id, "the last view", said, left.length)];
}

/**
 * The same for views that clients read, in sessions where nothing was removed: summaries and messages stand for the
 * log up to some message, each once, and for all that was acknowledged. Where the view starts is not asked: a late
 * answer stands with its question, and copies in front of the start look like the rest.
 */
function views(session: SessionCase): Finding[] {
  const { final, reads, removals, windows } = session;
  if (removals.length > 0 || (final.discarded ?? 0) > 0) {
    return [];
  }
  const log = final.log.filter((token) => token !== undefined);
  return reads.flatMap((call) => {
    const summaries = call.answer.covered ?? [];
    if (summaries.length === 0 || isTouched(windows, call.asked, Infinity)) {
      return [];
    }
    const covered = summaries.map(coverageIn).reduce(addCoverage, nothing);
    const said = addCoverage(covered, coverageOf(readRuns(call.answer.runs ?? "")));
    const least = lengthAt(session, call.asked);
    const isSound = said.count >= least && sameCoverage(said, coverageOf(log.slice(0, said.count)));
    const name = `the view of client ${call.client} at ${call.asked}`;
    const says = `${name} stands for ${said.count} messages, but not for the first ones or not for ${least}`;
    return isSound ? [] : [{ figure: "wrongSummaries", session: final.id, amount: 1, says } as const];
  });
}

/** How many messages of the log had been acknowledged by a time at least; 0 where a failover may have lost some. */
function lengthAt({ turns, positions, windows }: SessionCase, time: number): number {
  let length = 0;
  for (const { turn, count, calls } of windows.length > 0 ? [] : turns.values()) {
    const isThere = calls.some(({ ok, told }) => ok && told < time);
    length = isThere ? Math.max(length, (positions.get(tokenText({ turn, index: count - 1 })) ?? -1) + 1) : length;
  }
  return length;
}

function wrong(session: string, name: string, { count }: Coverage, left: number): Finding {
  const says = `${name} stands for ${count} messages before its start, where ${left} lie there, or for others`;
  return { figure: "wrongSummaries", session, amount: 1, says };
}

/** Doors whose turns make their own requests smaller, without a lease: a request cannot wait for another's summary. */
const requestDoors: ReadonlySet<string | undefined> = new Set(["agent", "chain"]);

/** Microseconds from the acquisition of a lease to the call of the model, at most: what a read of the view may take. */
const leaseLead = 5_000_000;

/**
 * Calls of the model that overlap behind writes: a lease was to let one process pay at a time. A server that lost data
 * since the lease was taken may have lost the lease.
 */
function atOnce({ final, windows }: SessionCase, summarized: readonly Call[]): Finding[] {
  const calls = summarized
    .filter(({ told, door }) => !requestDoors.has(door) && told !== Infinity)
    .filter((call) => !isTouched(windows, call.asked - leaseLead, call.told))
    .sort((a, b) => a.asked - b.asked);
  let last: Call | undefined;
  return calls.flatMap((call) => {
    const isAtOnce = last !== undefined && call.asked < last.told;
    const says = `clients ${last?.client} and ${call.client} wrote summaries at once, at ${call.asked}`;
    last = last !== undefined && last.told > call.told ? last : call;
    return isAtOnce ? [{ figure: "wrongSummaries", session: final.id, amount: 1, says } as const] : [];
  });
}
