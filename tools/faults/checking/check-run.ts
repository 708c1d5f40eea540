import type { Call } from "../journal/read-journals.js";
import { checkAnswers, type FinalChat } from "./check-answers.js";
import { checkErasures, checkErasuresBeside } from "./check-erasures.js";
import { checkFork } from "./check-forks.js";
import { checkHeldTurns } from "./check-held-turns.js";
import { checkLists, type OwnerList } from "./check-lists.js";
import { checkLog } from "./check-log.js";
import { checkReads } from "./check-reads.js";
import { checkReplies } from "./check-replies.js";
import { checkSummaries } from "./check-summaries.js";
import { checkThreads, type FinalThread } from "./check-threads.js";
import { windowsOfSlot, type FailoverWindow } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import { isWrite, sessionCase, type FinalSession } from "./session-case.js";

/** The remains of a run: the journals, the sessions as they are now, and when Redis promised less. */
export interface Evidence {
  readonly calls: readonly Call[];
  readonly sessions: readonly FinalSession[];
  readonly windows: readonly FailoverWindow[];
  /** The lists of owners; left out where they were not read. */
  readonly lists?: readonly OwnerList[];
  /** The threads of LangGraph; left out where they were not read. */
  readonly threads?: readonly FinalThread[];
  /** The chats whose answers were runs; left out where they were not read. */
  readonly chats?: readonly FinalChat[];
}

/** The findings of the checker. */
export interface Verdict {
  /** Messages whose turn was acknowledged. */
  readonly acknowledged: number;
  /** The part of them that a replica had acknowledged too. */
  readonly acknowledgedWithWait: number;
  readonly findings: readonly Finding[];
}

/** Compares what clients asked and were told with what is there. */
export function checkRun({ calls, sessions, windows, lists, threads = [], chats = [] }: Evidence): Verdict {
  const sessionOfTurn = new Map(calls.filter(isWrite).map((call) => [call.turn, call.session]));
  const bySession = groupBy(calls, (call) => call.session ?? sessionOfTurn.get(call.turn) ?? "");
  const acknowledged = new Map<string, { count: number; waits: boolean }>();
  for (const { ok, turn, count, waits } of calls.filter(isWrite)) {
    if (ok) {
      acknowledged.set(turn!, { count: count!, waits: waits === true });
    }
  }
  const forks = new Map(calls.filter(({ do: deed }) => deed === "fork").map((call) => [call.into!, call]));
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const callsOf = (session: string) => bySession.get(session) ?? [];
  const inLists = lists === undefined ? [] : checkLists(lists, { sessions, callsOf, windows });
  const sum = (all: { count: number }[]) => all.reduce((total, { count }) => total + count, 0);
  return {
    acknowledged: sum([...acknowledged.values()]),
    acknowledgedWithWait: sum([...acknowledged.values()].filter(({ waits }) => waits)),
    findings: [
      ...inLists,
      ...checkThreads(threads, calls, windows),
      ...checkAnswers(chats, calls, windows),
      ...checkErasuresBeside(calls, windows),
      ...[...bySession].flatMap(([session, own]) => checkReplies(session, own)),
      ...sessions.flatMap((final) => {
        const own = bySession.get(final.id) ?? [];
        const fork = forks.get(final.id);
        if (fork !== undefined) {
          const source = bySession.get(fork.session!) ?? [];
          const slots = [final.slot, byId.get(fork.session!)?.slot];
          const touching = slots.flatMap((slot) => windowsOfSlot(windows, slot));
          const { discarded = 0 } = byId.get(fork.session!) ?? {};
          return checkFork(final, {
            fork,
            source: source.filter(isNoSummary),
            discarded,
            reads: own,
            windows: touching,
          });
        }
        const session = sessionCase(final, {
          calls: own.filter(isNoSummary),
          windows: lifeWindows(windowsOfSlot(windows, final.slot), own),
        });
        const summarized = own.filter(({ do: deed }) => deed === "summarize");
        return [
          ...[...checkLog(session), ...checkHeldTurns(session)],
          ...[...checkReads(session), ...checkSummaries(session, summarized), ...checkErasures(session, own)],
        ];
      }),
    ],
  };
}

/** Calls of a model for a summary name messages and no session. */
function isNoSummary({ do: deed }: Call): boolean {
  return deed !== "summarize";
}

/** The windows that lie in the life of a session. */
function lifeWindows(windows: readonly FailoverWindow[], calls: readonly Call[]): FailoverWindow[] {
  const from = calls.reduce((first, { asked }) => Math.min(first, asked), Infinity);
  const to = calls.reduce((last, { asked, told }) => Math.max(last, told === Infinity ? asked : told), 0);
  return windows.filter((window) => window.to >= from && window.from <= to);
}

function groupBy(calls: readonly Call[], keyOf: (call: Call) => string): Map<string, Call[]> {
  const groups = new Map<string, Call[]>();
  for (const call of calls) {
    const key = keyOf(call);
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, [call]);
    } else {
      group.push(call);
    }
  }
  return groups;
}
