import { addCoverage, coverageIn, coverageOf, nothing, sameCoverage, type Coverage } from "../journal/coverage.js";
import type { Call } from "../journal/read-journals.js";
import { readRuns, tokenText, type Token } from "../journal/runs.js";
import { isTouched } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import type { SessionCase } from "./session-case.js";

/** Checks that summaries say exactly what left the view, and that no two were written for one session at once. */
export function checkSummaries(session: SessionCase, summarized: readonly Call[]): Finding[] {
  return [...lastView(session), ...views(session), ...atOnce(session, summarized)];
}

function lastView({ final }: SessionCase): Finding[] {
  const { start, head, covered } = final.view;
  if (covered.length === 0) {
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

/** The same for views that clients read, in sessions where nothing was removed. */
function views({ final, reads, removals, windows, positions }: SessionCase): Finding[] {
  if (removals.length > 0 || (final.discarded ?? 0) > 0) {
    return [];
  }
  return reads.flatMap((call) => {
    const summaries = call.answer.covered ?? [];
    const tokens = readRuns(call.answer.runs ?? "");
    if (summaries.length === 0 || isTouched(windows, call.asked, Infinity)) {
      return [];
    }
    const { head, start } = splitView(tokens, positions);
    const left = final.log.slice(0, start).filter((token) => token !== undefined);
    const covered = summaries.map(coverageIn).reduce(addCoverage, nothing);
    const said = addCoverage(covered, coverageOf(head));
    const name = `the view of client ${call.client} at ${call.asked}`;
    return sameCoverage(said, coverageOf(left)) ? [] : [wrong(final.id, name, said, left.length)];
  });
}

/** The messages before the contiguous end of a view, and the position of that end. */
function splitView(tokens: readonly Token[], positions: ReadonlyMap<string, number>) {
  const places = tokens.map((token) => positions.get(tokenText(token)) ?? -1);
  let first = places.length - 1;
  while (first > 0 && places[first - 1] === places[first]! - 1) {
    first -= 1;
  }
  return { head: tokens.slice(0, Math.max(0, first)), start: places[first] ?? 0 };
}

function wrong(session: string, name: string, { count }: Coverage, left: number): Finding {
  const says = `${name} stands for ${count} messages before its start, where ${left} lie there, or for others`;
  return { figure: "wrongSummaries", session, amount: 1, says };
}

/**
 * Calls of the model that overlap: a lease was to let one process pay at a time. The loop of an agent makes its own
 * requests smaller without a lease, because it cannot wait.
 */
function atOnce({ final, windows }: SessionCase, summarized: readonly Call[]): Finding[] {
  const calls = summarized
    .filter(({ asked, told, door }) => door !== "agent" && told !== Infinity && !isTouched(windows, asked, told))
    .sort((a, b) => a.asked - b.asked);
  let last: Call | undefined;
  return calls.flatMap((call) => {
    const isAtOnce = last !== undefined && call.asked < last.told;
    const says = `clients ${last?.client} and ${call.client} wrote summaries at once, at ${call.asked}`;
    last = last !== undefined && last.told > call.told ? last : call;
    return isAtOnce ? [{ figure: "wrongSummaries", session: final.id, amount: 1, says } as const] : [];
  });
}
