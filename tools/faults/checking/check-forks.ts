import type { Call } from "../journal/read-journals.js";
import { readRuns, tokenText, writeRuns } from "../journal/runs.js";
import { checkLog } from "./check-log.js";
import { checkSummaries } from "./check-summaries.js";
import { isTouched, type FailoverWindow } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import { sessionCase, type FinalSession } from "./session-case.js";

/** A copy of a session to which nobody wrote, with what is known of it. */
export interface ForkCase {
  /** The call that made it. */
  readonly fork: Call;
  /** The calls of the session that it is a copy of. */
  readonly source: readonly Call[];
  /** How many records of that session were discarded in the end. */
  readonly discarded: number;
  /** Reads of the copy. */
  readonly reads: readonly Call[];
  /** Those of the source and of the copy. */
  readonly windows: readonly FailoverWindow[];
}

/**
 * Checks a copy: it holds what the session held at one moment of the call, or its beginning, and could be read only
 * when it was complete. Where the call failed there may be none.
 */
export function checkFork(final: FinalSession, forkCase: ForkCase): Finding[] {
  const { fork, reads, windows, discarded } = forkCase;
  if (isTouched(windows, fork.asked, fork.told) || (!fork.ok && final.log.length === 0)) {
    return [];
  }
  // A beginning that the session has discarded is not copied.
  const isGone = final.log.length === 0 && fork.upTo !== undefined && fork.upTo <= discarded;
  const length = isGone ? [] : beginning(final, fork);
  const says = [...contents(final, forkCase), ...partial(final, reads), ...length];
  return says.map((text) => ({ figure: "wrongForks", session: final.id, amount: 1, says: text }) as const);
}

/** The checks of a session, with what was known of it when the call began, and what may have been by its end. */
function contents(final: FinalSession, { fork, source, windows }: ForkCase): string[] {
  const calls = source
    .filter(({ asked }) => asked < fork.told)
    .map((call) => (call.told < fork.asked ? call : { ...call, ok: false, told: Infinity, answer: {} }));
  const session = sessionCase(final, { calls, windows });
  const isWhole = fork.upTo === undefined;
  const found = [...checkLog(session), ...(isWhole ? checkSummaries(session, []) : [])]
    .filter(({ figure }) => figure !== "failoverLoss" && figure !== "failoverLossWithWait")
    // The beginning of a session may end in the middle of a turn, and lacks the later ones.
    .filter(({ figure }) => isWhole || (figure !== "lost" && figure !== "torn"))
    .map(({ says }) => `the copy: ${says}`);
  const later = final.log.find((token) => token !== undefined && !session.turns.has(token.turn));
  return later === undefined ? found : [...found, `the copy holds turn ${later.turn}, which was asked for only later`];
}

/** Reads that showed a part of the copy. */
function partial({ log }: FinalSession, reads: readonly Call[]): string[] {
  const whole = writeRuns(log.filter((token) => token !== undefined));
  return reads
    .filter(({ ok, answer }) => ok && (answer.runs ?? "") !== "" && answer.runs !== whole)
    .map(({ asked, answer }) => {
      const last = readRuns(answer.runs!).at(-1)!;
      return `a read at ${asked} showed the copy up to ${tokenText(last)} only, or with other messages`;
    });
}

/** A copy of the beginning has the length that was asked for. */
function beginning({ log, discarded = 0 }: FinalSession, { upTo }: Call): string[] {
  const length = log.length + discarded;
  return upTo === undefined || length === upTo || discarded > 0
    ? []
    : [`the copy has ${length} messages, where ${upTo} were asked for`];
}
