import { judgeAppends } from "./append-only.js";
import type { Call, Journals, LastRead } from "./journals.js";
import type { Anomaly } from "./list-append.js";
import { isRemoval, judgeLog } from "./removals.js";

/** An anomaly with the session or the thread that it was found in. */
export interface SessionAnomaly extends Anomaly {
  readonly session: string;
}

/** The second opinion on the journals of a run. */
export interface Opinion {
  /** Messages whose turn was acknowledged. */
  readonly acknowledged: number;
  /** Sessions and threads that were judged. */
  readonly sessions: number;
  readonly anomalies: readonly SessionAnomaly[];
  /** Sessions for which the search for an order found no end. */
  readonly undecided: readonly string[];
}

/**
 * Judges the journals of a run, by methods that share no code with the package nor with `tools/faults/checking`.
 * Requests after a failover that concerns a session are left aside: Redis may lose there what it acknowledged.
 */
export function judge({ calls, last, keptUntil }: Journals): Opinion {
  const sessions = grouped(
    calls.filter(({ session, thread }) => session !== "" && thread === undefined),
    "session",
  );
  const threads = grouped(calls, "thread");
  const undecided: string[] = [];
  const anomalies: SessionAnomaly[] = [];
  for (const [session, own] of sessions) {
    const forks = own.filter(({ does }) => does === "fork").flatMap(({ into }) => sessions.get(into!) ?? []);
    const until = keptUntil(begin(own), last.get(session)?.slot);
    const known = before(until, [...own, ...forks]);
    const read = until === Infinity ? last.get(session) : undefined;
    const opinion = judgeSession(session, known, read);
    anomalies.push(...opinion.anomalies.map((anomaly) => ({ ...anomaly, session })));
    undecided.push(...(opinion.undecided ? [session] : []));
  }
  for (const [thread, own] of threads) {
    const found = judgeAppends(thread, certain(before(keptUntil(begin(own), undefined), own)), undefined);
    anomalies.push(...found.map((anomaly) => ({ ...anomaly, session: thread })));
  }
  const turns = new Map(calls.filter(isStored).map(({ turn, count }) => [turn, count]));
  const acknowledged = [...turns.values()].reduce((sum, count) => sum + count, 0);
  return { acknowledged, sessions: sessions.size + threads.size, anomalies, undecided };
}

function isStored({ ok, does }: Call): boolean {
  return ok && (does === "append" || does === "replace");
}

function judgeSession(session: string, calls: readonly Call[], last: LastRead | undefined) {
  const own = calls.filter((call) => call.session === session);
  if (own.every(({ does }) => does === "transcript") && !own.some(({ does }) => does === "append")) {
    return { anomalies: copyReads(session, own), undecided: false };
  }
  // Once messages were discarded, no read shows the whole list.
  const isKept = last === undefined ? own.some(({ whole }) => whole) : last.discarded === 0;
  const appends = isKept && !own.some(isRemoval) ? judgeAppends(session, calls, last) : [];
  const log = judgeLog(session, calls, last);
  return { anomalies: [...appends, ...log.anomalies], undecided: log.undecided };
}

function begin(calls: readonly Call[]): number {
  return calls.reduce((first, { asked }) => Math.min(first, asked), Infinity);
}

/** Nobody writes to a copy, so that all that read it read the same. */
function copyReads(session: string, reads: readonly Call[]): Anomaly[] {
  const seen = reads.filter(({ ok, shown }) => ok && shown.length > 0).sort((a, b) => a.told - b.told);
  const first = JSON.stringify(seen[0]?.shown);
  const other = seen.find(({ shown }) => JSON.stringify(shown) !== first);
  const gone = reads.find(({ ok, shown, asked }) => ok && shown.length === 0 && seen.some(({ told }) => told < asked));
  return [
    ...(other === undefined ? [] : [{ name: "fractured", says: `reads of copy ${session} showed different messages` }]),
    ...(gone === undefined ? [] : [{ name: "stale-read", says: `a read at ${gone.asked} did not show the copy` }]),
  ];
}

/** The calls as they were known before a time: those that were under way have an unknown outcome. */
function before(time: number, calls: readonly Call[]): Call[] {
  const known = calls.filter(({ asked }) => asked < time);
  return known.map((call) => (call.told < time ? call : { ...call, ok: false, error: "", told: Infinity, shown: [] }));
}

/** A checkpoint of unknown outcome may be put behind one that its owner went on without, and then counts no more. */
function certain(calls: readonly Call[]): Call[] {
  const unknown = new Set(calls.filter(({ does, ok }) => does === "put" && !ok).map(({ turn }) => turn));
  const puts = calls.filter(({ does, turn }) => does !== "put" || !unknown.has(turn));
  return puts.map((call) => ({ ...call, shown: call.shown.filter(({ turn }) => !unknown.has(turn)) }));
}

function grouped(calls: readonly Call[], by: "session" | "thread"): Map<string, Call[]> {
  const groups = new Map<string, Call[]>();
  for (const call of calls) {
    const name = call[by];
    const group = groups.get(name ?? "") ?? [];
    if (name !== undefined) {
      groups.set(name, group);
      group.push(call);
    }
  }
  return groups;
}
